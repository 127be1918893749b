// Runs ralph on the runner itself, as its main step and, when that was killed, after
// the others. No module but Node's own: what runs here is this file and the binary that
// release.json of the same commit names. setup/main.js only installs it.
'use strict'

const { spawn, spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const root = path.join(__dirname, '..')

// What the step was given is ralph's. What main.js itself starts needs little of it, and no secret.
const env = { ...process.env }
const few = /^(PATH|HOME|TMPDIR|LD_LIBRARY_PATH|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|XDG_CACHE_HOME|GO(ROOT|PATH|CACHE|MODCACHE|FLAGS|TOOLCHAIN|PROXY|NOPROXY|PRIVATE|SUMDB|NOSUMDB))$/i
for (const name of Object.keys(process.env)) if (!few.test(name)) delete process.env[name]

// Refusal is an error whose text says all: what, where, and what to do.
class Refusal extends Error {}

// slug is the platform as release.json names it.
function slug () {
  const system = { linux: 'linux', darwin: 'darwin' }[process.platform]
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch]
  if (!system || !arch) {
    const here = process.platform === 'win32' ? 'Windows, where it has no sandbox' : process.platform
    throw new Refusal(`ralph runs on Linux and macOS runners with x64 or arm64, and this one has ${here} (${process.arch}): give the job another runs-on, such as ubuntu-24.04.`)
  }
  return `${system}_${arch}`
}

// release is what this commit of the action trusts; undefined on a commit that is no release.
function release () {
  const file = path.join(root, 'release.json')
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : undefined
}

const sumOf = (bytes) => createHash('sha256').update(bytes).digest('hex')

// copy writes the bytes of a file to another that only we can change, and that the agent's user
// can start as its hook, and returns their sum.
function copy (from, to) {
  const bytes = fs.readFileSync(from)
  fs.writeFileSync(to, bytes, { mode: 0o755, flag: 'wx', flush: true })
  return sumOf(bytes)
}

function run (program, args, cwd) {
  const done = spawnSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return { ok: done.status === 0, missing: done.error?.code === 'ENOENT', text: ((done.stderr || '') + (done.error || '')).trim().slice(-2000) }
}

// download fetches the archive of a release and unpacks the binary to a file.
function download (rel, platform, to) {
  const name = `ralph_${rel.version.replace(/^v/, '')}_${platform}.tar.gz`
  const repository = env.GITHUB_ACTION_REPOSITORY
  if (!repository) {
    throw new Refusal('The runner does not say which repository this action comes from: give the input `binary`.')
  }
  const archive = to + '.tar.gz'
  const problems = []
  for (const server of new Set([env.GITHUB_SERVER_URL || 'https://github.com', 'https://github.com'])) {
    const url = `${server}/${repository}/releases/download/${rel.version}/${name}`
    const got = run('curl', ['-fsSL', '--retry', '3', '--connect-timeout', '20', '--max-time', '300', '-o', archive, url])
    if (got.ok) {
      const unpacked = run('tar', ['-xzf', archive, '-C', path.dirname(to), 'ralph'])
      fs.rmSync(archive, { force: true })
      if (unpacked.ok) {
        fs.renameSync(path.join(path.dirname(to), 'ralph'), to)
        return
      }
      problems.push(`${url}: ${unpacked.text}`)
    } else {
      problems.push(got.missing ? 'curl is not on PATH' : `${url}: ${got.text}`)
    }
  }
  throw new Refusal(`The binary of ralph ${rel.version} could not be downloaded: ${problems.join('; ')}. Where the network does not reach that, put it into the tool cache or give the input \`binary\`.`)
}

// released puts the binary of the release into dir: from the tool cache if it is there,
// else downloaded, and kept there for the next job.
function released (rel, dir) {
  const platform = slug()
  const want = rel.binaries[platform]
  const binary = path.join(dir, 'ralph')
  const cached = env.RUNNER_TOOL_CACHE && path.join(env.RUNNER_TOOL_CACHE, 'ralph', rel.version.replace(/^v/, ''), process.arch, 'ralph')
  if (cached && fs.existsSync(cached)) {
    if (copy(cached, binary) === want) return binary
    console.log(`::warning::${cached} is not the binary of ralph ${rel.version} (sha256 ${want}): it is downloaded anew.`)
    fs.rmSync(binary)
  }
  const fresh = path.join(dir, 'download')
  download(rel, platform, fresh)
  const sum = copy(fresh, binary)
  if (sum !== want) {
    throw new Refusal(`The downloaded binary has sha256 ${sum}, and this commit of the action wants ${want} (release.json): nothing was started.`)
  }
  try {
    if (cached) {
      fs.mkdirSync(path.dirname(cached), { recursive: true })
      const part = `${cached}-${process.pid}`
      fs.copyFileSync(fresh, part)
      fs.renameSync(part, cached)
    }
  } catch (err) {
    console.log(`The binary is not kept for the next job: ${err.message}`)
  }
  fs.rmSync(fresh)
  return binary
}

// given takes the binary that the workflow names.
function given (file, rel, dir) {
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw new Refusal(`binary: ${file} is no file, or does not exist.`)
  const binary = path.join(dir, 'ralph')
  const sum = copy(file, binary)
  const want = rel?.binaries[slug()]
  if (want && sum !== want) {
    throw new Refusal(`binary: ${file} has sha256 ${sum}, and this commit of the action wants ${want} (release.json of ralph ${rel.version}).`)
  }
  if (!want) {
    const starts = run(binary, ['version']) // else what is no program is taken for a shell script
    if (!starts.ok) throw new Refusal(`binary: ${file} is no ralph that this machine can start: ${starts.text}`)
    console.log(`binary: ${file} is started unchecked: this commit of the action is no release, and holds no checksums.`)
  }
  return binary
}

// compiled builds the binary of a commit that is no release.
function compiled (dir) {
  const binary = path.join(dir, 'ralph')
  process.env.CGO_ENABLED = '0'
  const built = run('go', ['build', '-trimpath', '-buildvcs=false', '-o', binary, './cmd/ralph'], root)
  if (built.missing) {
    throw new Refusal('This commit of the action is no release, and Go is not on PATH to build it: use a release, run actions/setup-go before this step, or give the input `binary`.')
  }
  if (!built.ok) throw new Refusal(`go build: ${built.text}`)
  return binary
}

// start runs the binary to its end and exits with its code. Signals go on to it: the
// runner sends them to this process alone.
function start (dir, command, end) {
  const binary = path.join(dir, 'ralph')
  env.RALPH_STEP_DIR = dir
  delete env.INPUT_BINARY // ralph has no such input
  for (const name of Object.keys(env)) { // setup-python's LD_LIBRARY_PATH is for what ralph starts
    if (name === 'NODE_OPTIONS' || (name.startsWith('LD_') && name !== 'LD_LIBRARY_PATH')) delete env[name]
  }
  let child
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child = spawn(binary, [command], { stdio: 'inherit', env })
  child.on('error', (err) => fail(new Refusal(`${binary}: ${err.message}`)))
  child.on('exit', (code, signal) => {
    end?.()
    process.exitCode = code ?? 128 + os.constants.signals[signal]
  })
}

function fail (err) {
  console.log(`::error title=ralph did not start::${(err instanceof Refusal ? err.message : err.stack).replace(/%/g, '%25').replace(/\r?\n/g, '%0A')}`)
  process.exitCode = 2
}

// install puts the binary into a new folder of the job's, of which made is told first.
function install (prefix, made) {
  const dir = fs.mkdtempSync(path.join(env.RUNNER_TEMP || os.tmpdir(), prefix))
  made?.(dir)
  slug() // nothing else is tried where ralph does not run
  const rel = release()
  const own = env.INPUT_BINARY
  return own ? given(own, rel, dir) : rel ? released(rel, dir) : compiled(dir)
}

function main () {
  const binary = install('ralph-', (dir) => remember(`directory=${dir}`))
  remember(`sum=${sumOf(fs.readFileSync(binary))}`)
  start(path.dirname(binary), 'action')
}

// remember tells the post step, which is another process.
function remember (line) {
  if (env.GITHUB_STATE) fs.appendFileSync(env.GITHUB_STATE, line + '\n')
}

// post ends, saves and publishes what a killed main step left, and removes its folder. What
// ralph itself cannot remove of that, it names; hidden git settings exist nowhere else.
function post (dir) {
  const binary = path.join(dir, 'ralph')
  const remove = () => {
    if (fs.existsSync(path.join(dir, 'hidden'))) return
    try { fs.rmSync(dir, { recursive: true, force: true }) } catch {}
  }
  if (!env.STATE_sum) return remove() // main did not get as far as to start it
  if (sumOf(fs.readFileSync(binary)) !== env.STATE_sum) throw new Refusal(`${binary} was changed since it was started: what a killed run left is not published.`)
  start(dir, 'post', remove)
}

module.exports = { env, install, fail }
if (require.main === module) {
  try {
    env.STATE_directory ? post(env.STATE_directory) : main()
  } catch (err) {
    fail(err)
  }
}
