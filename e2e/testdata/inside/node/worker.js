// A worker thread that serves, and tells its port.
const http = require('node:http');
const { parentPort } = require('node:worker_threads');

const server = http.createServer((_, res) => res.end('hello from a worker'));
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
