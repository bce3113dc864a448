// Says numbered lines when told to, and writes its ticks into a file: both together only while its loop turns.
import * as fs from 'node:fs'
import { LogSink } from '../../src/kernel/logsink.ts'

const [notes = '', count = '0', patience = '0'] = process.argv.slice(2)
const sink = new LogSink(1)
const note = (word: string) => fs.appendFileSync(notes, `${word}\n`)

process.on('SIGUSR2', () => {
  for (let n = 0; n < Number(count); n++) sink.write(`${JSON.stringify({ n, text: 'x'.repeat(90) })}\n`)
  note('said')
  setTimeout(() => {
    // A second time, now that the reader is known to stand still.
    sink.write('{"n":-1}\n')
    setTimeout(() => note('turns'), 100)
  }, 100)
})
process.on('SIGTERM', () => sink.flush(Number(patience)).then(() => process.exit(0)))
setInterval(() => undefined, 1000)
note('ready')
