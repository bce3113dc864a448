// The yardstick, run as a program: bare node:http and one prepared INSERT per request (WAL, NORMAL). argv: database file.
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'

const db = new Database(process.argv[2] as string)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = NORMAL')
db.exec('CREATE TABLE beats (id INTEGER PRIMARY KEY, path TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL)')
const insert = db.prepare('INSERT INTO beats (path, at, body) VALUES (?, ?, ?)')

const server = http.createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    insert.run(request.url as string, new Date().toISOString(), Buffer.concat(parts).toString())
    const answer = '{"data":{}}'
    response.writeHead(202, { 'content-type': 'application/json', 'content-length': answer.length })
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
