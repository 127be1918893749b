// Package egress is how sandboxed processes, its clients, reach the network: a forward proxy that decides by
// name and by address, ports of loopback behind which a server of the user's is,
// and a key proxy that adds the key of a provider. All of it runs in ralph's own
// process, listens on 127.0.0.1 only, and takes what comes from clients as
// hostile.
//
// TLS is not opened: what goes to an allowed host, and under which account, is
// not seen.
package egress
