// What the doctor says to do has one shape everywhere: words, a command, or words and the command they lead to.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, test } from 'node:test'
import { callsOf, inProject, sourcesOf, textsOf } from './compiler.ts'
import { sources } from './source.ts'

interface Said {
  command?: string
  file: string
  words?: string
}

let said: Said[] = []
before(() => {
  said = inProject((project) =>
    sourcesOf(project, 'src').flatMap(({ file, source }) => {
      if (file === 'src/wire/doctor.ts') return []
      const texts = (node: Parameters<typeof textsOf>[1]) => textsOf(project.checker, node)
      const commands = [...callsOf(source, new Set(['command']))].flatMap(({ arguments: [line] }) =>
        line ? texts(line).map((command) => ({ command, file })) : [],
      )
      const advices = [...callsOf(source, new Set(['advice']))].flatMap(({ arguments: [words, line] }) =>
        words
          ? texts(words).flatMap((one) =>
              (line ? texts(line) : [undefined]).map((command) => ({ command, file, words: one })),
            )
          : [],
      )
      return [...commands, ...advices] as Said[]
    }),
  )
})

const tell = ({ command, file, words }: Said): string => `${file}: ${words ?? ''} | ${command ?? ''}`

test('words lead to their command with a colon, and name no command line of their own', () => {
  assert.ok(said.length > 40, `only ${said.length} were found`)
  const words = said.filter((one) => one.words !== undefined)
  const wrong = words.filter(
    ({ command, words = '' }) => (command !== undefined) !== words.endsWith(':') || words.endsWith('.'),
  )
  const mixed = words.filter(({ words = '' }) =>
    /\bsudo |&&|\||\$\(| -[a-z] |; \w+ -/.test(words.replace(/arecord -L/, '')),
  )
  assert.deepEqual([...wrong, ...mixed].map(tell), [])
})

test('a command can be pasted as it is: a shell takes it, and nothing in it is to be filled in', () => {
  const commands = said.flatMap(({ command, file }) => (command === undefined ? [] : [{ command, file }]))
  assert.ok(commands.length > 30, `only ${commands.length} were found`)
  const wrong = commands.filter(({ command }) => {
    const filled = command.replace(/<[^>]*>/g, 'given')
    const isShell = (() => {
      try {
        execFileSync('sh', ['-n', '-c', filled], { stdio: 'ignore' })
        return true
      } catch {
        return false
      }
    })()
    const hasGap = /\b(?!TARGET\b|SVC_)[A-Z]{3,}\b/.test(filled) || /[.…]$|, |\bthen\b|\(and /.test(filled)
    return !isShell || hasGap || !/^(sudo |curl |arecord |findmnt |resolvectl )/.test(filled)
  })
  assert.deepEqual(wrong.map(tell), [])
})

test('nothing else makes one', () => {
  const wrong = sources(['src']).filter(({ file, text }) => file !== 'src/wire/doctor.ts' && /\bas Fix\b/.test(text))
  assert.deepEqual(
    wrong.map(({ file }) => file),
    [],
  )
})
