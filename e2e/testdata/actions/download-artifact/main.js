'use strict'

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')

// unzip writes the files of an archive below a folder.
function unzip (data, dir) {
  const end = data.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"))
  let at = data.readUInt32LE(end + 16)
  for (let n = data.readUInt16LE(end + 10); n > 0; n--) {
    const method = data.readUInt16LE(at + 10)
    const size = data.readUInt32LE(at + 20)
    const [name, extra, comment] = [28, 30, 32].map((i) => data.readUInt16LE(at + i))
    const local = data.readUInt32LE(at + 42)
    const from = local + 30 + data.readUInt16LE(local + 26) + data.readUInt16LE(local + 28)
    const bytes = data.subarray(from, from + size)
    const file = path.join(dir, data.toString('utf8', at + 46, at + 46 + name))
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, method === 0 ? bytes : zlib.inflateRawSync(bytes))
    at += 46 + name + extra + comment
  }
}

async function main () {
  const token = process.env.ACTIONS_RUNTIME_TOKEN
  const scope = JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).scp.split(' ').find((s) => s.startsWith('Actions.Results:')).split(':')
  const ask = async (method, body) => {
    const answer = await fetch(`${process.env.ACTIONS_RESULTS_URL}twirp/github.actions.results.api.v1.ArtifactService/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ workflow_run_backend_id: scope[1], workflow_job_run_backend_id: scope[2], ...body })
    })
    if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const pattern = process.env.INPUT_PATTERN
  const wanted = pattern ? (name) => path.matchesGlob(name, pattern) : (name) => name === process.env.INPUT_NAME
  const found = ((await ask('ListArtifacts', {})).artifacts || []).map((a) => a.name).filter(wanted)
  if (!pattern && found.length === 0) throw new Error(`no artifact ${process.env.INPUT_NAME}`)
  for (const name of found) {
    const { signedUrl } = await ask('GetSignedArtifactURL', { name })
    const answer = await fetch(signedUrl)
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`)
    const data = Buffer.from(await answer.arrayBuffer())
    if (data.length === 0) continue // whose upload did not come to its end: GitHub does not list it
    unzip(data, pattern ? path.join(process.env.INPUT_PATH, name) : process.env.INPUT_PATH)
  }
  console.log(`${found.length} artifacts: ${found.join(', ')}`)
}

main().catch((err) => { console.log(`::error::${err.message}`); process.exitCode = 1 })
