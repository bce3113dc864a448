// Options of the scripts that make things: --help prints what the script says of itself, a wrong option one sentence.
import * as fs from 'node:fs'
import { parseArgs } from 'node:util'

/** Values of the options; ends the program after --help (0) and for an option there is not (2). `script`: its file. */
export function optionsOf(script, options) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h', default: false } } })
    if (!values.help) return values
  } catch (e) {
    console.error(`${e.message}\n\n${usage(script)}`)
    process.exit(2)
  }
  console.log(usage(script))
  process.exit(0)
}

/** The comment at its top. */
function usage(script) {
  const lines = fs.readFileSync(script, 'utf8').split('\n')
  return lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('//')),
    )
    .map((line) => line.slice(3))
    .join('\n')
}
