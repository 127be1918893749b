// Package hosts is the syntax of the input allowed-hosts: which hosts and ports
// an entry means. It is pure: it resolves no name and opens no connection.
//
// An entry is one of
//
//	example.com                ports 443 and 80 of this name
//	example.com:8443           one port of it
//	example.com:*              every port of it
//	*.example.com              names below it at any depth, not itself; ports as above
//	10.0.0.5:11434  [::1]:80   an address; ports as above
//	*:443                      one port of every public host
//	tcp://db.internal:5432     one port, reached without HTTP
//	https://api.example.com/v1 port 443 of its host; the path plays no part
//	!example.com               refused on every port, whatever else allows it; !example.com:80 on one
//	*                          everything is allowed
package hosts
