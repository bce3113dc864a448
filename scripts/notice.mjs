// The licences of everything inside the executable, as one text: what NOTICE in an archive says.
import * as fs from 'node:fs'
import * as path from 'node:path'

const LICENCE = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/**
 * Every package of package-lock.json that is not for development only, each text once. Of those that exist for some machines
 * only the runtime alone is inside. @throws Error when one is not installed.
 */
export function notice(root) {
  const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  const inside = Object.entries(packages).filter(
    ([place, { dev, devOptional, optional }]) => place && !dev && !devOptional && (!optional || isRuntime(place)),
  )
  const owners = new Map()
  for (const [place, facts] of inside) {
    const title = titleOf(place, facts)
    const dir = runtimeOr(root, place)
    if (!fs.existsSync(dir)) throw new Error(`${place} is not installed: run npm ci.`)
    const text = textOf(dir)
    owners.set(text, (owners.get(text) ?? new Set()).add(title))
  }
  const parts = [...owners].map(([text, titles]) => `${[...titles].sort().join('\n')}\n\n${text}`.trimEnd()).sort()
  return `${['Roomtone contains these works of others, under their own terms.', ...parts].join(`\n\n${'-'.repeat(78)}\n\n`)}\n`
}

const isRuntime = (place) => place.startsWith('node_modules/node-linux-')

function titleOf(place, { license, version }) {
  const name = isRuntime(place) ? 'Node.js' : place.split('node_modules/').at(-1)
  return `${name} ${version} (${license ?? 'see its text'})`
}

/** The runtime is installed for this machine only; its licence is the same for every architecture. */
function runtimeOr(root, place) {
  const modules = path.join(root, 'node_modules')
  const installed = isRuntime(place) && fs.readdirSync(modules).find((name) => name.startsWith('node-linux-'))
  return installed ? path.join(modules, installed) : path.join(root, place)
}

function textOf(dir) {
  const files = fs.readdirSync(dir).filter((name) => LICENCE.test(name) && fs.statSync(path.join(dir, name)).isFile())
  return files
    .sort()
    .map((name) => fs.readFileSync(path.join(dir, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n')
}
