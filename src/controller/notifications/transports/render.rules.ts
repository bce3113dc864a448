// What people see of a message: as text, as HTML, and in the few lines of a push notification. What they are made of may be
// names that somebody chose: nothing in them is markup, breaks a line, turns the direction of text, or is without end.
import { escapedHtml } from '../../../kernel/html.ts'
import { bounded, type Message } from './transport.ts'

const MOST = { factLabel: 60, facts: 40, factValue: 500, paragraph: 2_000, paragraphs: 40, title: 150 }
/** Invisible marks that turn the direction of what follows: a name could make the rest of a line read as something else. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** What is added to every message, in its language. */
const WORDS = {
  de: {
    acknowledge: 'Bestätigen',
    console: 'In der Konsole öffnen',
    digest: (level: string) => `Sammelmeldung, bis zu: ${level}`,
    escalated: (level: string) => `${level}, weitergegeben`,
    footer: 'Von Roomtone automatisch gesendet. Antworten an diese Adresse liest niemand.',
    more: (count: number) => `und ${count} weitere`,
    note: ' (öffnet eine Seite mit einem Knopf)',
    report: 'Tagesbericht',
    resolved: 'Vorbei',
    severities: { critical: 'Kritisch', info: 'Hinweis', warning: 'Warnung' },
    test: 'Test',
    untitled: 'Meldung',
  },
  en: {
    acknowledge: 'Acknowledge',
    console: 'Open in the console',
    digest: (level: string) => `Summary, up to ${level.toLowerCase()}`,
    escalated: (level: string) => `${level}, escalated`,
    footer: 'Sent automatically by Roomtone. Replies to this address are not read.',
    more: (count: number) => `and ${count} more`,
    note: ' (opens a page with one button)',
    report: 'Daily report',
    resolved: 'Resolved',
    severities: { critical: 'Critical', info: 'Information', warning: 'Warning' },
    test: 'Test',
    untitled: 'Notification',
  },
}

export const wordsOf = ({ language = 'en' }: Pick<Message, 'language'>) => WORDS[language]

interface Shown {
  facts: [label: string, value: string][]
  links: { href: string; label: string; note: string }[]
  paragraphs: string[]
  /** What kind of message it is, in a word or two. */
  state: string
  title: string
}

const clean = (text: string, most: number): string => bounded(text.replace(TURNING, ''), most)

/** One line for subjects and titles. */
export const titleOf = (message: Message): string => clean(message.title, MOST.title) || wordsOf(message).untitled

/** Everything a message shows, harmless and bounded. */
function shown(message: Message): Shown {
  const { acknowledgeUrl, facts, paragraphs, url } = message
  const words = wordsOf(message)
  const more = (count: number): string[] => (count > 0 ? [words.more(count)] : [])
  return {
    facts: [
      ...facts
        .slice(0, MOST.facts)
        .map(([label, value]): [string, string] => [clean(label, MOST.factLabel), clean(value, MOST.factValue)]),
      ...more(facts.length - MOST.facts).map((text): [string, string] => ['…', text]),
    ],
    links: [
      { href: webAddress(url), label: words.console, note: '' },
      { href: webAddress(acknowledgeUrl), label: words.acknowledge, note: words.note },
    ].filter((link): link is Shown['links'][number] => link.href !== undefined),
    paragraphs: [
      ...paragraphs.slice(0, MOST.paragraphs).map((text) => clean(text, MOST.paragraph)),
      ...more(paragraphs.length - MOST.paragraphs),
    ].filter(Boolean),
    state: stateOf(message),
    title: titleOf(message),
  }
}

/** As the URL parser writes it, on one line; undefined for what a click should not do. */
function webAddress(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { href, protocol } = new URL(url)
  return /^https?:$/.test(protocol) ? href : undefined
}

function stateOf({ kind, language, severity }: Message): string {
  const words = wordsOf({ language })
  const level = words.severities[severity]
  const states = {
    digest: words.digest(level),
    escalation: words.escalated(level),
    event: level,
    report: words.report,
    resolved: words.resolved,
    test: words.test,
  }
  return states[kind]
}

/** Plain text, lines ending in \n. */
export function textOf(message: Message): string {
  const { facts, links, paragraphs, state, title } = shown(message)
  const width = Math.max(0, ...facts.map(([label]) => label.length)) + 2
  const table = facts.map(([label, value]) => `${`${label}:`.padEnd(width)}${value}`).join('\n')
  const doors = links.map(({ href, label, note }) => `${label}${note}:\n${href}`)
  // A line of two hyphens and a space: mail programs know that a signature follows.
  return [`${title}\n[${state}]`, ...paragraphs, table, ...doors, `-- \n${wordsOf(message).footer}`]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n')
}

const TONES = { bad: '#b3261e', good: '#146c43', normal: '#35618e', wary: '#7a5200' }

const toneOf = ({ kind, severity }: Message): string => {
  if (kind === 'resolved') return TONES.good
  if (kind === 'report' || kind === 'test') return TONES.normal
  return { critical: TONES.bad, info: TONES.normal, warning: TONES.wary }[severity]
}

const FONT = 'font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'

/**
 * A whole page. Text and background are the reader's own, light or dark; what has a colour of ours has both. Nothing is loaded
 * from anywhere.
 */
export function htmlOf(message: Message): string {
  const { facts, links, paragraphs, state, title } = shown(message)
  const parts = [
    `<p style="margin:0 0 12px"><span style="${badgeStyle(toneOf(message))}">${escapedHtml(state)}</span></p>`,
    `<h1 dir="auto" style="font-size:20px;line-height:1.3;margin:0 0 16px">${escapedHtml(title)}</h1>`,
    ...paragraphs.map((text) => `<p dir="auto" style="margin:0 0 12px">${escapedHtml(text)}</p>`),
    facts.length > 0 ? tableOf(facts) : '',
    links.length > 0 ? `<p style="margin:20px 0 0">${links.map(buttonOf).join('\n')}</p>` : '',
    `<p style="margin:28px 0 0;font-size:13px;opacity:.75">${escapedHtml(wordsOf(message).footer)}</p>`,
  ]
  return `<!doctype html>
<html lang="${message.language ?? 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapedHtml(title)}</title>
</head>
<body style="margin:0;padding:0">
<div style="${FONT};font-size:16px;line-height:1.5;max-width:600px;margin:0 auto;padding:24px 16px;overflow-wrap:anywhere;word-break:break-word">
${parts.filter(Boolean).join('\n')}
</div>
</body>
</html>
`
}

const badgeStyle = (tone: string): string =>
  `display:inline-block;padding:2px 10px;border-radius:4px;background:${tone};color:#ffffff;font-size:14px;font-weight:600`

function tableOf(facts: Shown['facts']): string {
  const cell = 'padding:6px 12px 6px 0;border-top:1px solid #8c8c8c;text-align:left;vertical-align:top'
  const rows = facts.map(
    ([label, value]) =>
      `<tr><th scope="row" style="${cell};font-weight:400;opacity:.75;width:30%">${escapedHtml(label)}</th>` +
      `<td dir="auto" style="${cell};padding-right:0">${escapedHtml(value)}</td></tr>`,
  )
  return `<table style="border-collapse:collapse;width:100%;margin:16px 0 0;font-size:15px">\n${rows.join('\n')}\n</table>`
}

/** The first one is what most people want. */
function buttonOf({ href, label }: Shown['links'][number], at: number): string {
  const colours = at === 0 ? `background:${TONES.normal};color:#ffffff` : 'background:#e7e7ea;color:#1a1a1a'
  const style = `display:inline-block;margin:0 8px 8px 0;padding:10px 18px;border-radius:6px;${colours};font-weight:600;text-decoration:none`
  return `<a href="${escapedHtml(href)}" style="${style}">${escapedHtml(label)}</a>`
}

/** For a push notification, without its title: at most `mostBytes` of UTF-8, never empty. */
export function shortText(message: Message, mostBytes: number): string {
  const { facts, paragraphs, state } = shown(message)
  const table = facts.map(([label, value]) => `${label}: ${value}`).join('\n')
  return cutToBytes([...paragraphs, table].filter(Boolean).join('\n\n') || state, mostBytes)
}

function cutToBytes(text: string, most: number): string {
  const ellipsis = '…'
  const encoder = new TextEncoder()
  if (encoder.encode(text).length <= most) return text
  const { read } = encoder.encodeInto(text, new Uint8Array(most - encoder.encode(ellipsis).length))
  return `${text.slice(0, read).trimEnd()}${ellipsis}`
}
