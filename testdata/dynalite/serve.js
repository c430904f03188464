// Serves dynalite on 127.0.0.1, prints the endpoint once it answers, and ends
// with its standard input or its parent, whichever ends first.
// usage: node serve.js [port]      (0: any free port)
'use strict'
const fs = require('fs')
const path = require('path')

const dir = process.env.AIFLOW_DYNALITE_DIR || __dirname
const dynalite = require(path.join(dir, 'node_modules', 'dynalite'))
const options = { createTableMs: 20, updateTableMs: 20, deleteTableMs: 20 }
if (process.env.AIFLOW_DYNALITE_PATH) options.path = process.env.AIFLOW_DYNALITE_PATH

const server = dynalite(options)
server.keepAliveTimeout = 120000
server.on('error', (err) => {
  console.error(String(err.message))
  process.exit(1)
})
// dynalite throws when a client dies in the middle of a request; a database
// goes on.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET') return
  console.error(err)
  process.exit(1)
})
server.listen(Number(process.argv[2] || 0), '127.0.0.1', () => {
  console.log('http://127.0.0.1:' + server.address().port)
})

const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) process.exit(0) }, 500)

// /dev/null is what a shell gives a background command: no sign of anything.
const input = fs.fstatSync(0)
if (!input.isCharacterDevice() || process.stdin.isTTY) {
  process.stdin.resume()
  process.stdin.on('end', () => process.exit(0))
}
