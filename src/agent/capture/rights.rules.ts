// What a controller may have this recorder run. A name of a device and an option of a program can start any program, too: the
// PCM "file" of ALSA writes into a command, jack_capture has hooks. What stands in the recorder's own settings is not judged.
import type { CaptureBackend } from '../../wire/nodes.ts'

export interface CaptureRights {
  /** Programs that may be asked for. */
  commands: readonly string[]
  /** Commands, templates and devices of this recorder's own settings. */
  own: { commands: readonly string[]; devices: readonly string[]; templates: readonly string[] }
}

export interface CaptureWish {
  argsTemplate?: string | undefined
  backend: CaptureBackend
  device: string
  /** The program itself, not what stands for it. */
  program: string
}

/** The programs we know; each is told what it is to do by us. */
export const PROGRAMS: Record<CaptureBackend, string> = { alsa: 'arecord', jack: 'jack_capture', pipewire: 'pw-record' }

/** Why it is not done; undefined when it may be. */
export function refusalOf({ argsTemplate, backend, device, program }: CaptureWish, rights: CaptureRights) {
  const { commands, own } = rights
  if (!commands.includes(program) && !own.commands.includes(program))
    return `capture_command_not_allowed: ${program} (SVC_CAPTURE_ALLOWED_COMMANDS of the recorder)`
  if (backend === 'alsa' && !own.devices.includes(device) && !isPlainDevice(device))
    return `capture_device_not_allowed: ${device}`
  if (argsTemplate === undefined || own.templates.includes(argsTemplate)) return undefined
  const word = strangeWord(shellWords(argsTemplate), program)
  return word === undefined ? undefined : `capture_template_not_allowed: ${word}`
}

/** A name, and plain values behind it: no quotes, paths or definitions, and neither of the PCMs that write into files. */
const isPlainDevice = (device: string): boolean =>
  /^\w[\w.-]*(:[\w.,=:-]*)?$/.test(device) && !/(^|[:=,])(file|tee)([:=,]|$)/i.test(device)

interface Options {
  /** Stand alone. */
  flags: readonly string[]
  /** Are followed by a value. */
  values: readonly string[]
}

const OPTIONS: Record<string, Options> = {
  arecord: {
    flags: words(`-q --quiet -M --mmap -N --nonblock -v --verbose --disable-resample --disable-channels --disable-format
      --disable-softvol --fatal-errors`),
    values: words(`-D --device -t --file-type -c --channels -f --format -r --rate -d --duration -s --samples
      -F --period-time -B --buffer-time --period-size --buffer-size -A --avail-min -R --start-delay -T --stop-delay
      -m --chmap`),
  },
  jack_capture: {
    flags: words(
      '-ws --write-to-stdout -dc --disable-console -ns --no-stdin -dm --disable-meter -hbu --hide-buffer-usage',
    ),
    values: words('-c --channels -p --port -b --bitdepth -B --bufsize -f --format -d --duration'),
  },
  'pw-record': {
    flags: words('-r --record -a --raw -v --verbose'),
    values: words('--target --rate --channels --channel-map --format --latency --volume --quality --media-role'),
  },
}

const OUTPUTS: ReadonlySet<string> = new Set(['-', '{output}', '{output_path}'])
const DEVICES: ReadonlySet<string> = new Set(['-D', '--device'])

/** The first word that one of our programs is not to be given. Whoever permits another program permits its options. */
function strangeWord(template: string[], program: string): string | undefined {
  const known = OPTIONS[program]
  if (!known) return undefined
  for (let at = 0; at < template.length; at++) {
    const word = template[at] as string
    if (OUTPUTS.has(word) || known.flags.includes(word)) continue
    const [, name = word, joined] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
    if (!known.values.includes(name)) return word
    const value = joined ?? template[++at]
    if (value === undefined) return word
    if (DEVICES.has(name) && value !== '{device}' && !isPlainDevice(value)) return value
  }
  return undefined
}

function words(list: string): string[] {
  return list.split(/\s+/)
}

/** Splits a line into words as a shell does: blanks, single and double quotes, backslash. Throws when unbalanced or empty. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const c = line[at]!
    if (c === '\\' && quote !== "'") {
      if (++at >= line.length) throw new Error('template ends with a backslash')
      word = (word ?? '') + line[at]
    } else if (quote !== '') {
      if (c === quote) quote = ''
      else word += c
    } else if (c === '"' || c === "'") {
      quote = c
      word ??= ''
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + c
  }
  if (quote !== '') throw new Error('template has an unbalanced quote')
  if (word !== undefined) words.push(word)
  if (words.length === 0) throw new Error('template is empty')
  return words
}

/** Replaces `{name}` in every word; a name that is not known stays as it is. */
export const fillWords = (words: string[], values: Record<string, string | number>): string[] =>
  words.map((word) => word.replaceAll(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)))
