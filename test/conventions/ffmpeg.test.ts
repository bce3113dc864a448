// No file decides by itself how ffmpeg reads it: every input is made in one place, and names demuxer, decoders, protocols.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounded, input, probing } from '../../src/system/host/ffmpeg.ts'
import { sources } from './source.ts'

const HOME = 'src/system/host/ffmpeg.ts'
const AUDIO = { file: '/takes/a.flac', format: 'flac' } as const
const RAW = { channels: 2, format: 's16le', rate: 48_000 } as const

/** Every way to make an input, called; a new one has no line here and fails the type check. */
const MADE: Record<keyof typeof input, string[]> = {
  file: input.file(AUDIO),
  list: input.list('/takes/list.txt', 'flac'),
  raw: input.raw(RAW, '/takes/a.raw'),
  stdin: input.stdin(RAW),
  stretch: input.stretch(RAW, { file: '/takes/a.wav', from: 44, to: 444 }),
}

const PINS = ['-protocol_whitelist', '-format_whitelist', '-codec_whitelist', '-f']

for (const [name, args] of [...Object.entries(MADE), ['probing', probing(AUDIO, 'format=duration', 'json')] as const])
  test(`an input made by ${name} is pinned before it is named`, () => {
    const named = args.includes('-i') ? args.indexOf('-i') : args.length - 1
    for (const pin of PINS) assert.ok(args.indexOf(pin) >= 0 && args.indexOf(pin) < named, pin)
    const protocols = args[args.indexOf('-protocol_whitelist') + 1] ?? ''
    assert.ok(
      protocols.split(',').every((protocol) => ['file', 'pipe', 'subfile'].includes(protocol)),
      protocols,
    )
    assert.match(args.at(-1) ?? '', /^(file:|pipe:0$|subfile,)/, 'a name is no option and no address')
  })

/** Files of src that have to do with ffmpeg or ffprobe: by what they say, or by what they import. */
const about = sources(['src']).filter(({ file, text }) => file !== HOME && /ff(mpeg|probe)/i.test(text))

const FAULTS: [RegExp, string][] = [
  [/(['"`])-i\1|-show_(?:entries|streams|format)|subfile,/g, 'makes an input of its own'],
  // A function of that name, with its own parameters or in the same file, ends in one of these itself.
  [/(?<![.\w])(?:start|run)\((?!\{|\)|request\b|'apt-get'|$)/gm, 'has no bounds'],
]

const faultsOf = (text: string): string[] =>
  FAULTS.flatMap(([pattern, why]) =>
    [...text.matchAll(pattern)].map(({ index }) => `${why}: ${text.slice(index).split('\n')[0]}`),
  )

test('every ffmpeg and ffprobe gets its inputs from one place, and is bounded', () => {
  assert.ok(about.length > 5)
  assert.deepEqual(
    about.flatMap(({ file, text }) => faultsOf(text).map((fault) => `${file} ${fault}`)),
    [],
  )
})

test('the guard sees what it is there for', () => {
  for (const text of ["const a = ['-i', file]", "['-show_entries', 'x']", 'start(ffmpeg, args)', "run('ffmpeg', [])"])
    assert.equal(faultsOf(text).length, 1, text)
  assert.deepEqual(faultsOf('startTool(args, { command })'), [])
})

test('a bounded command is the child itself', () => {
  const [program, args] = bounded('ffmpeg', ['-version'])
  assert.equal(program, '/bin/sh')
  assert.match(args[1] ?? '', /ulimit -v \d+.*exec "\$0" "\$@"$/)
})
