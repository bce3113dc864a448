import assert from 'node:assert/strict'
import { test } from 'node:test'
import { places, sources } from './source.ts'

interface Habit {
  rule: string
  pattern: RegExp
  /** Where the rule holds; everywhere in src when absent. */
  within?: string
  /** Files (or folders, with a slash at the end) that may, with the reason beside them. */
  except: (string | RegExp)[]
}

const HABITS: Habit[] = [
  {
    rule: 'the environment is read in the one config file of a program',
    pattern: /\bprocess\s*\.\s*env\b|\bprocess\s*\[/g,
    // the log is there before there is a program with a config: it asks whether it speaks to the journal
    // what is run without an environment of its own gets this one's
    except: [/^src\/(system\/)?\w+\/config\.ts$/, 'src/kernel/logsink.ts', 'src/system/host/run.ts'],
  },
  {
    rule: 'time comes from the clock',
    pattern: /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|(?!\s*\())/g,
    // the log stamps its own lines: it is given to everything, before there is a clock to give
    // a browser has only its own
    except: ['src/kernel/clock.ts', 'src/kernel/log.ts', 'src/console/'],
  },
  {
    rule: 'room on a disk has one meaning for each of its names',
    pattern: /\bstatfs\b/g,
    except: ['src/kernel/disk.ts'],
  },
  {
    rule: 'ids come from ids',
    pattern: /\brandomUUID\b/g,
    except: ['src/kernel/ids.ts'],
  },
  {
    rule: 'requests are made by the one client',
    pattern: /\bawait\s+fetch\s*\(|\bhttps?\s*\.\s*(?:request|get)\s*\(/g,
    // a browser has its own client
    except: ['src/kernel/http.ts', 'src/console/'],
  },
  { rule: 'programs log and print through streams, not the console', pattern: /\bconsole\s*\.\s*\w+/g, except: [] },
  {
    rule: 'bodies are parsed and answered by the pipeline',
    pattern: /\bc\s*\.\s*json\s*\(|\bsafeParse(?:Async)?\s*\(/g,
    within: 'src/controller/',
    except: ['src/controller/http/', 'src/controller/config.ts'],
  },
  {
    rule: 'no module keeps state that changes',
    pattern: /^(?:export )?(?:let|var)\s+\w+/gm,
    // one copy of SQLite per process is the point: see there
    // a thread of the browser is a program of its own
    except: ['src/controller/store/native.ts', /\.thread\.ts$/],
  },
  {
    rule: 'rules are synchronous',
    pattern: /\basync\b|\bawait\b|\bnew\s+Promise\b/g,
    within: '.rules.ts',
    except: [],
  },
  {
    rule: 'children are spawned, never forked: a fork of the executable starts it again',
    pattern: /\bfork\s*\(/g,
    except: [],
  },
]

const excepted = (file: string, { except }: Habit): boolean =>
  except.some((may) =>
    typeof may === 'string' ? file === may || (may.endsWith('/') && file.startsWith(may)) : may.test(file),
  )

const all = sources(['src'], ['.ts', '.tsx']).filter(({ file }) => !file.endsWith('.d.ts'))

for (const habit of HABITS)
  test(habit.rule, () => {
    const judged = all.filter(({ file }) => file.includes(habit.within ?? '') && !excepted(file, habit))
    assert.deepEqual(
      judged.flatMap((source) => places(source, habit.pattern)),
      [],
    )
  })

test('what is written in comments and strings is not a habit', () => {
  const text =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "// Date.now()\nconst a = 'Date.now()' + `Date.now() ${b}`\nconst r = /Date.now()/\nconst c = `${Date.now()}`"
  assert.deepEqual(places({ file: 'x.ts', text }, /Date\.now/g), ['x.ts:4 Date.now'])
})

test('every event is told by somebody and heard by somebody', () => {
  const [map] = sources(['src/controller'], ['events.ts']).filter(({ file }) => file === 'src/controller/events.ts')
  const types = [...(map?.text ?? '').matchAll(/^ {2}'([\w.]+)':/gm)].map(([, type = '']) => type)
  assert.ok(types.length > 10, `${types.length} events`)
  const others = sources(['src/controller'], ['.ts']).filter(({ file }) => file !== map?.file)
  const listeners = others.filter(({ text }) => text.includes('events.on('))
  const silent = types.filter((type) => !others.some(({ text }) => text.includes(`events.emit('${type}'`)))
  assert.deepEqual(silent, [], 'nobody emits it: `events.emit(...)` where it happens, inside the transaction')
  const unheard = types.filter((type) => !listeners.some(({ text }) => text.includes(`'${type}'`)))
  assert.deepEqual(unheard, [], 'nobody hears it: `events.on(...)` in a module.ts, or leave the event out')
})
