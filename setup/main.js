// Puts the binary that release.json of the same commit names on PATH, for the steps that
// follow. It is checked, and kept in the tool cache, as host/main.js does it.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { env, install, fail } = require('../host/main.js')

try {
  const dir = path.dirname(install('ralph-bin-'))
  fs.chmodSync(dir, 0o755) // other users of the job may start it, too
  fs.appendFileSync(env.GITHUB_PATH, dir + '\n')
} catch (err) {
  fail(err)
}
