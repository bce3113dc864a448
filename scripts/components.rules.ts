// What a release is made of, from the lock file: a CycloneDX document that is the same wherever it is made.

export interface Locked {
  dependencies?: Record<string, string>
  dev?: boolean
  integrity?: string
  license?: string
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  version?: string
}

/** The `packages` of package-lock.json; the project itself has the empty path. */
export type Packages = Record<string, Locked>

const FOLDER = 'node_modules/'

// Not by locale: that is the machine's.
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const nameOf = (place: string): string => place.slice(place.lastIndexOf(FOLDER) + FOLDER.length)
const refOf = (place: string, { version }: Locked): string =>
  place === '' ? 'roomtone' : `${nameOf(place)}@${version}`

/** The place a dependency is found at, looked for from `place` upwards as the runtime does. */
function resolved(packages: Packages, place: string, name: string): string | undefined {
  for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf(FOLDER) - 1))) {
    const found = `${at === '' ? '' : `${at}/`}${FOLDER}${name}`
    if (packages[found]) return found
    if (at === '') return undefined
  }
}

function component(place: string, { integrity, license, version }: Locked) {
  const name = nameOf(place)
  const digest = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  // A single word is an identifier of SPDX, several are an expression.
  const licence = license && (/\s/.test(license) ? { expression: license } : { license: { id: license } })
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace(/^@/, '%40')}@${version}`,
    ...(licence ? { licenses: [licence] } : {}),
    ...(digest ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] } : {}),
  }
}

/** Components that are shipped, development tools left out; ordered, without clock, serial number or folder. */
export function componentsOf(packages: Packages, version: string) {
  const shipped = Object.entries(packages).filter(([, locked]) => !locked.dev)
  const dependsOn = (place: string, locked: Locked): string[] =>
    Object.keys({ ...locked.dependencies, ...locked.optionalDependencies, ...locked.peerDependencies })
      .map((name) => resolved(packages, place, name))
      .flatMap((found) => (found === undefined ? [] : [refOf(found, packages[found] as Locked)]))
  const edges = new Map<string, Set<string>>()
  for (const [place, locked] of shipped) {
    const ref = refOf(place, locked)
    edges.set(ref, new Set([...(edges.get(ref) ?? []), ...dependsOn(place, locked)]))
  }
  const inside = shipped.filter(([place]) => place !== '').map(([place, locked]) => component(place, locked))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': 'roomtone',
        name: 'roomtone',
        version,
        licenses: [{ license: { id: packages['']?.license } }],
      },
    },
    components: [...new Map(inside.map((one) => [one['bom-ref'], one])).values()].sort((a, b) =>
      order(a['bom-ref'], b['bom-ref']),
    ),
    dependencies: [...edges]
      .map(([ref, to]) => ({ ref, dependsOn: [...to].sort(order) }))
      .sort((a, b) => order(a.ref, b.ref)),
  }
}
