import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { type AudioFormat, formatOf } from '../../../src/system/host/audio.ts'
import { bounded, input, listOf, probing } from '../../../src/system/host/ffmpeg.ts'

const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-audio-'))
after(() => rmSync(dir, { force: true, recursive: true }))

const TONE = ['-f', 'lavfi', '-i', 'sine=440:r=48000:d=1', '-ac', '2']
const make = (name: string, ...how: string[]): string => {
  const file = path.join(dir, name)
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...TONE, ...how, file])
  return file
}
const write = (name: string, bytes: string | Uint8Array): string => {
  const file = path.join(dir, name)
  writeFileSync(file, bytes)
  return file
}

// Everything a recorder, an encoder of ours or a tagging program makes.
const HONEST: [AudioFormat, string, string[]][] = [
  ['wav', 'plain.wav', []],
  ['wav', 'deep.wav', ['-c:a', 'pcm_s24le']],
  ['wav', 'float.wav', ['-c:a', 'pcm_f32le']],
  ['wav', 'long.wav', ['-rf64', 'always']],
  ['flac', 'plain.flac', []],
  ['mp3', 'tagged.mp3', ['-metadata', `title=${'long '.repeat(2000)}`]],
  ['mp3', 'bare.mp3', ['-id3v2_version', '0', '-write_xing', '0']],
  ['mp3', 'variable.mp3', ['-q:a', '9', '-ar', '16000']],
  ['mp3', 'low.mp3', ['-ar', '8000', '-b:a', '8k']],
]
for (const [format, name, how] of HONEST)
  test(`${name} is known as ${format}, and read as that`, async () => {
    const file = make(name, ...how)
    assert.equal(await formatOf(file), format)
    const out = execFileSync('ffmpeg', ['-v', 'error', ...input.file({ file, format }), '-f', 's16le', '-'])
    assert.ok(out.length > 10_000)
    const [command, args] = bounded('ffprobe', probing({ file, format }, 'stream=channels', 'csv=p=0'))
    assert.equal(execFileSync(command, args, { encoding: 'utf8' }).trim(), '2')
  })

test('a FLAC file behind a tag is a FLAC file', async () => {
  const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x02\0', 'latin1'), Buffer.alloc(256)])
  const file = write('tagged.flac', Buffer.concat([tag, readFileSync(make('untagged.flac'))]))
  assert.equal(await formatOf(file), 'flac')
  execFileSync('ffmpeg', ['-v', 'error', ...input.file({ file, format: 'flac' }), '-f', 'null', '-'])
})

const FOREIGN: [string, string | Uint8Array][] = [
  ['nothing', ''],
  ['a playlist', '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n#EXT-X-ENDLIST\n'],
  ['a list', 'ffconcat version 1.0\nfile other.flac\n'],
  ['a page', '<!DOCTYPE html><html></html>'],
  ['a RIFF file of another kind', 'RIFF\0\0\0\0AVI LIST'],
  ['a RIFF file that breaks off', 'RIFF'],
  ['a tag alone', Buffer.from('ID3\x04\0\0\0\0\x02\0', 'latin1')],
  ['a tag before a playlist', Buffer.from('ID3\x04\0\0\0\0\0\0#EXTM3U\n', 'latin1')],
  ['tags without end', Buffer.from('ID3\x04\0\0\0\0\0\0'.repeat(50), 'latin1')],
  ['MPEG layer II', Buffer.of(0xff, 0xfd, 0x90, 0x64)],
  ['ones', Buffer.alloc(64, 0xff)],
]
for (const [what, bytes] of FOREIGN)
  test(`${what} is no audio`, async () => {
    assert.equal(await formatOf(write('foreign', bytes)), undefined)
  })

test('a list opens files of its format and nothing that is a list again', () => {
  const sounds = [make('one.flac'), make('two.flac')].map((file) => path.basename(file))
  const list = path.join(dir, 'list.txt')
  const read = () =>
    execFileSync('ffmpeg', ['-v', 'error', ...input.list(list, 'flac'), '-f', 's16le', '-'], { stdio: 'pipe' })
  writeFileSync(list, listOf(sounds, 'flac'))
  assert.equal(read().length, 2 * 48_000 * 2 * 2)
  write('nested.flac', 'ffconcat version 1.0\nfile one.flac\n')
  writeFileSync(list, listOf(['nested.flac'], 'flac'))
  assert.throws(read)
})

test('the memory of a child is bounded, and a missing program is told by its end', () => {
  const [command, args] = bounded('sh', ['-c', 'ulimit -v'])
  assert.equal(execFileSync(command, args, { encoding: 'utf8' }), '2097152\n')
  const [shell, missing] = bounded('no-such-program', [])
  assert.throws(
    () => execFileSync(shell, missing, { stdio: 'pipe' }),
    (e: { status?: number }) => e.status === 127,
  )
})
