// A second file: node --test runs each in a process of its own.
const assert = require('node:assert');
const net = require('node:net');
const test = require('node:test');

test('an echo', async () => {
  const server = net.createServer((c) => c.pipe(c)).listen(0, '127.0.0.1');
  await new Promise((ready) => server.on('listening', ready));
  const c = net.connect(server.address().port, '127.0.0.1');
  c.write('hello');
  assert.equal(String(await new Promise((resolve) => c.on('data', resolve))), 'hello');
  c.end();
  server.close();
});
