// What a release is called and what is written about it; no clock, no machine.
import { versionOfTag } from '../src/host/release.rules.ts'

/** `day` is YYYY.MM.DD of the commit; its own tag goes before a new number. */
export function tagFor(day: string, own: readonly string[], all: readonly string[]): string {
  const [newest] = numbered(own)
  if (newest) return newest.tag
  const taken = numbered(all).filter((one) => one.day === day)
  return `agent-v${day}-${(taken[0]?.number ?? 0) + 1}`
}

/** The agent's tags among others, the newest first. */
function numbered(tags: readonly string[]): { day: string; number: number; tag: string }[] {
  return tags
    .flatMap((tag) => {
      const [version = '', day = '', number] = /^(\d{4}\.\d{2}\.\d{2})-(\d+)$/.exec(versionOfTag(tag) ?? '') ?? []
      return version ? [{ day, number: Number(number), tag }] : []
    })
    .sort((a, b) => b.day.localeCompare(a.day) || b.number - a.number)
}

/** The part of the changelog about this version, or about what is not released yet. @throws Error when there is neither. */
export function notes(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m)
  const part =
    parts.find((one) => one.startsWith(`[${version}]`)) ?? parts.find((one) => one.startsWith('[Unreleased]'))
  if (!part) throw new Error(`CHANGELOG.md has neither ${version} nor Unreleased.`)
  return `# Roomtone ${version}\n\n${part.slice(part.indexOf('\n')).trim()}\n`
}

interface Component {
  'bom-ref': string
  hashes?: unknown
  licenses?: unknown
  name: string
  purl: string
  version: string
}

/** A CycloneDX document as `npm sbom` writes it, as far as it is read. */
export interface Bom {
  components: Component[]
  dependencies: { dependsOn?: string[]; ref: string }[]
  metadata: { component: Component }
}

/** npm's list of components without what changes from run to run, folder to folder or npm to npm. */
export function sbomOf({ components, dependencies, metadata }: Bom, version: string) {
  const { 'bom-ref': root, licenses } = metadata.component
  const named = (ref: string) => (ref === root ? 'roomtone' : ref)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'roomtone', name: 'roomtone', version, licenses } },
    components: components.map(componentOf).sort((a, b) => order(a['bom-ref'], b['bom-ref'])),
    dependencies: dependencies
      .map(({ dependsOn = [], ref }) => ({ ref: named(ref), dependsOn: [...dependsOn].sort(order) }))
      .sort((a, b) => order(a.ref, b.ref)),
  }
}

// Not by locale: that is the machine's.
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const componentOf = ({ 'bom-ref': ref, hashes, licenses, name, purl, version }: Component) => ({
  type: 'library',
  'bom-ref': ref,
  name,
  version,
  purl,
  ...(licenses ? { licenses } : {}),
  ...(hashes ? { hashes } : {}),
})
