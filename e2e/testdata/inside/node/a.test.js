const assert = require('node:assert');
const { fork, spawnSync } = require('node:child_process');
const dns = require('node:dns').promises;
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { Worker } = require('node:worker_threads');

const hello = (req, res) => res.end(`hello from ${req.url}`);

async function serving(where, f) {
  const server = http.createServer(hello);
  await new Promise((ready) => server.listen(where, ready));
  try {
    return await f(server);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

for (const [listen, ask] of [['127.0.0.1', '127.0.0.1'], ['localhost', 'localhost'], ['::1', '[::1]'], [undefined, '127.0.0.1'], [undefined, 'localhost']]) {
  test(`fetch ${ask} of a server at ${listen}`, () => serving({ port: 0, host: listen }, async (server) => {
    const res = await fetch(`http://${ask}:${server.address().port}/a`);
    assert.equal(await res.text(), 'hello from /a');
  }));
}

test('http.get with an agent that keeps connections', () => serving({ port: 0 }, async (server) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const all = Array.from({ length: 100 }, (_, i) => new Promise((resolve, reject) => {
    http.get({ port: server.address().port, path: `/${i}`, agent }, (res) => {
      let text = '';
      res.on('data', (d) => { text += d; }).on('end', () => resolve(text));
    }).on('error', reject);
  }));
  assert.deepEqual(await Promise.all(all), all.map((_, i) => `hello from /${i}`));
  agent.destroy();
}));

test('a unix socket', async () => {
  const socket = path.join(os.tmpdir(), `shop-${process.pid}.sock`);
  await serving({ path: socket }, () => new Promise((resolve, reject) => {
    http.get({ socketPath: socket, path: '/unix' }, (res) => {
      res.on('data', (d) => assert.equal(String(d), 'hello from /unix')).on('end', resolve);
    }).on('error', reject);
  }));
});

test('nobody listens', async () => {
  const port = await serving({ port: 0, host: '127.0.0.1' }, async (server) => server.address().port);
  await assert.rejects(new Promise((resolve, reject) => net.connect(port, '127.0.0.1', resolve).on('error', reject)), { code: 'ECONNREFUSED' });
});

test('a worker thread', async () => {
  const worker = new Worker(path.join(__dirname, 'worker.js'));
  const port = await new Promise((resolve) => worker.on('message', resolve));
  assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'hello from a worker');
  await worker.terminate();
});

test('child processes', async () => {
  const child = fork(path.join(__dirname, 'child.js'));
  const port = await new Promise((resolve) => child.on('message', resolve));
  assert.equal(await (await fetch(`http://localhost:${port}`)).text(), `hello from ${child.pid}`);
  const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
  child.kill();
  assert.equal(await ended, 'SIGTERM');
  assert.equal(spawnSync('cat', { input: 'through a pipe' }).stdout.toString(), 'through a pipe');
});

test('the machine', async () => {
  assert.ok(os.networkInterfaces().lo.length > 0);
  assert.ok(['127.0.0.1', '::1'].includes((await dns.lookup('localhost')).address));
  assert.ok(os.cpus().length > 0 && os.hostname() && os.homedir());
});

test('files are watched', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'watch-'));
  const seen = new Promise((resolve) => {
    const watcher = fs.watch(dir, (_, name) => { watcher.close(); resolve(name); });
  });
  fs.writeFileSync(path.join(dir, 'new'), '');
  assert.equal(await seen, 'new');
});

test('what npm ci installed', () => assert.equal(require('greeting'), 'hello'));
