// The OpenAPI document as one page of plain HTML: no script, nothing from elsewhere (ADR-0040).
import { escapedHtml } from '../../../kernel/html.ts'
import { type Schema, written } from './shapes.rules.ts'

interface Content {
  content?: Record<string, { schema?: Schema }>
  description?: string
}
interface Operation {
  operationId: string
  parameters: { in: string; name: string; required: boolean; schema: Schema }[]
  requestBody?: Content & { required: boolean }
  responses: Record<string, Content & { $ref?: string }>
  security: Record<string, unknown>[]
  summary: string
  'x-also'?: Operation[]
  'x-permission'?: string
}
interface Reason {
  messages: string[]
  parts: string[]
  reason: string
  status: string
}
/** What of the document the page shows. */
export interface Described {
  components: {
    responses: Record<string, Content>
    schemas: Record<string, Schema>
    securitySchemes: Record<string, { description: string }>
  }
  info: { title: string; version: string }
  paths: Record<string, Record<string, Operation>>
  'x-reasons': Reason[]
}

interface Entry {
  method: string
  operation: Operation
  path: string
}

/** The page in pieces, of which each takes a millisecond or two to make. */
export function* apiPage(document: Described): Generator<string> {
  const { components, info } = document
  const families = Map.groupBy(entriesOf(document), ({ path }) => familyOf(path))
  const shown = shape(components.schemas)
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapedHtml(info.title)}: API</title>
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<header>
<h1>${escapedHtml(info.title)}: API</h1>
<p>Version ${escapedHtml(info.version)}. For programs: <a href="/api/v1/openapi.json">openapi.json</a>, from which clients are generated.
Answers are <code>{ data }</code>, errors <code>{ error }</code>, with <code>reason</code> for programs.</p>
</header>
<nav aria-label="Contents">
<h2>Contents</h2>
<ul>
${[...families].map(([name, all]) => `<li><a href="#${anchor(name)}">${escapedHtml(name)}</a> ${all.length}</li>`).join('\n')}
<li><a href="#credentials">Credentials</a></li>
<li><a href="#errors">Errors and reasons</a></li>
<li><a href="#types">Types</a></li>
</ul>
</nav>
<main>
`
  for (const [name, entries] of families) {
    yield `<section aria-labelledby="${anchor(name)}">\n<h2 id="${anchor(name)}">${escapedHtml(name)}</h2>\n`
    for (const entry of entries) yield operation(entry, components, shown)
    yield '</section>\n'
  }
  yield credentials(components)
  yield errors(components, document['x-reasons'], shown)
  yield '<section aria-labelledby="types">\n<h2 id="types">Types</h2>\n'
  for (const [name, schema] of Object.entries(components.schemas).sort(byName))
    yield `<h3 id="type-${name}">${name}</h3>\n<pre tabindex="0">${shown(written(schema))}</pre>\n`
  yield '</section>\n</main>\n</body>\n</html>\n'
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)
const anchor = (family: string): string => `family-${family.replaceAll(/\W/g, '-')}`

function entriesOf({ paths }: Described): Entry[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, first]) =>
      [first, ...(first['x-also'] ?? [])].map((operation) => ({ method: method.toUpperCase(), operation, path })),
    ),
  )
}

/** The first word of an address, of settings the second too. */
function familyOf(path: string): string {
  const [first = '', second = ''] = path
    .replace(/^\/api\/v1/, '')
    .slice(1)
    .split('/')
  return first === 'settings' && second ? `settings/${second}` : first
}

/** Escaped, with a link from each type that is told of further down. */
const shape =
  (schemas: Record<string, Schema>) =>
  (text: string): string =>
    escapedHtml(text).replaceAll(/\b[A-Z]\w+\b/g, (name) =>
      schemas[name] ? `<a href="#type-${name}">${name}</a>` : name,
    )

type Shown = (text: string) => string

function operation({ method, operation: o, path }: Entry, components: Described['components'], shown: Shown): string {
  const who = [...new Set(o.security.flatMap(Object.keys))].map(
    (name) => `<a href="#credentials">${escapedHtml(name)}</a>`,
  )
  const facts = [
    `Who: ${who.join(' or ') || 'anybody'}`,
    ...(o['x-permission'] ? [`permission <code>${escapedHtml(o['x-permission'])}</code>`] : []),
    `audited as <code>${escapedHtml(o.summary)}</code>`,
  ]
  return `<details id="${escapedHtml(o.operationId)}">
<summary><h3><span class="method">${method}</span> <code>${escapedHtml(path).replaceAll('/', '/<wbr>')}</code></h3></summary>
<p>${facts.join('; ')}.</p>
${[parameters(o, 'path', shown), parameters(o, 'query', shown), body(o, shown), answers(o, components, shown)].join('')}</details>
`
}

function parameters({ parameters: all }: Operation, where: string, shown: Shown): string {
  const here = all.filter((one) => one.in === where)
  if (here.length === 0) return ''
  const properties = Object.fromEntries(here.map(({ name, schema }) => [name, schema]))
  const required = here.filter((one) => one.required).map(({ name }) => name)
  return block(where === 'path' ? 'In the path' : 'Query', shown(written({ properties, required, type: 'object' })))
}

function body({ requestBody }: Operation, shown: Shown): string {
  if (!requestBody) return ''
  const schema = requestBody.content?.['application/json']?.schema
  return block(
    requestBody.required ? 'Body' : 'Body, which may be left out',
    schema ? shown(written(schema)) : 'a file',
  )
}

function answers({ responses }: Operation, { responses: common }: Described['components'], shown: Shown): string {
  const own = Object.entries(responses).filter(([, { $ref }]) => !$ref)
  const refusals = Object.entries(responses).flatMap(([status, { $ref }]) => {
    const words = common[$ref?.split('/').at(-1) ?? '']?.description
    return words && status !== 'default' ? [`${status} (${escapedHtml(words)})`] : []
  })
  const told = own.map(([status, { content, description = '' }]) => {
    const schema = content?.['application/json']?.schema
    const title = `Answer ${status}${/^(Success|Done, no body)$/.test(description) ? '' : `: ${escapedHtml(description)}`}`
    return block(title, schema ? shown(written(schema)) : content ? 'the content itself' : 'no body')
  })
  return `${told.join('')}<p class="refusals"><a href="#errors">Refusals</a>: ${refusals.join(', ')}.</p>\n`
}

const block = (title: string, text: string): string => `<h4>${title}</h4>\n<pre tabindex="0">${text}</pre>\n`

function credentials({ securitySchemes }: Described['components']): string {
  const items = Object.entries(securitySchemes).map(
    ([name, { description }]) => `<dt>${escapedHtml(name)}</dt><dd>${ticked(description)}</dd>`,
  )
  return `<section aria-labelledby="credentials">
<h2 id="credentials">Credentials</h2>
<p>Tokens travel as <code>Authorization: Bearer</code>. Which permission a session needs is told with each route.</p>
<dl>
${items.join('\n')}
</dl>
</section>
`
}

const ticked = (text: string): string => escapedHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

function errors({ responses }: Described['components'], reasons: Reason[], shown: Shown): string {
  const kinds = Object.entries(responses).map(([name, { content, description = '' }]) => {
    const schema = content?.['application/json']?.schema
    const status = name === 'Default' ? 'any other' : name.slice(1)
    return `<tr><td>${status}</td><td>${escapedHtml(description)}</td><td><code>${schema ? shown(written(schema)) : ''}</code></td></tr>`
  })
  const rows = reasons.map(
    ({ messages, parts, reason, status }) =>
      `<tr><td><code>${escapedHtml(reason)}</code></td><td>${escapedHtml(status)}</td><td>${escapedHtml(messages.join(' · '))}</td><td>${escapedHtml(parts.join(', '))}</td></tr>`,
  )
  return `<section aria-labelledby="errors">
<h2 id="errors">Errors and reasons</h2>
<p>Messages may change, reasons do not: decide by them. <code>&lt;name&gt;</code> stands for what only a running controller knows.</p>
${table('Statuses', ['Status', 'When', 'Body'], kinds)}${table('Reasons', ['Reason', 'Status', 'Message', 'Part of the controller'], rows)}</section>
`
}

const table = (title: string, heads: string[], rows: string[]): string => `<h3>${title}</h3>
<div class="wide" role="region" aria-label="${title}" tabindex="0"><table>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>
`
