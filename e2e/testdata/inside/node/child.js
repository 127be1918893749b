// A server in a process of its own.
const http = require('node:http');

const server = http.createServer((_, res) => res.end(`hello from ${process.pid}`));
server.listen(0, 'localhost', () => process.send(server.address().port));
