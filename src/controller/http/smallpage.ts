// Pages of a few lines for whoever follows a link without the console: no script, nothing loaded.
import { hash } from 'node:crypto'
import { escapedHtml } from '../../kernel/html.ts'

export interface SmallPage {
  /** Words of a button that posts to the address of the page. */
  button?: string | undefined
  /** Names and values, above the paragraph. */
  facts?: readonly (readonly [name: string, value: string])[] | undefined
  /** BCP 47. */
  language: string
  link?: { href: string; text: string } | undefined
  paragraph: string
  title: string
}

const STYLE = `:root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1.5rem;overflow-wrap:anywhere}dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}dt{opacity:.75}dd{margin:0}button{font:inherit;font-weight:600;padding:.75rem 1.5rem;border:0;border-radius:.5rem;background:#1a5fb4;color:#fff;cursor:pointer}button:focus-visible{outline:3px solid currentColor;outline-offset:2px}`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Everything on it is escaped here. */
export function smallPage(status: number, page: SmallPage, headers: Record<string, string> = {}): Response {
  return new Response(htmlOf(page), {
    headers: { ...headers, 'content-security-policy': POLICY, 'content-type': 'text/html; charset=utf-8' },
    status,
  })
}

function htmlOf({ button, facts = [], language, link, paragraph, title }: SmallPage): string {
  const heading = escapedHtml(title)
  const rows = facts.map(([name, value]) => `<dt>${escapedHtml(name)}</dt><dd>${escapedHtml(value)}</dd>`).join('')
  const body = [
    `<h1>${heading}</h1>`,
    rows && `<dl>${rows}</dl>`,
    `<p>${escapedHtml(paragraph)}</p>`,
    link && `<p><a href="${escapedHtml(link.href)}">${escapedHtml(link.text)}</a></p>`,
    button && `<form method="post"><button>${escapedHtml(button)}</button></form>`,
  ]
  return `<!doctype html><html lang="${escapedHtml(language)}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${heading}</title><style>${STYLE}</style></head><body><main>${body.filter(Boolean).join('')}</main></body></html>`
}
