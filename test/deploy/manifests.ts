// What kustomize makes of the manifests, as Kubernetes would see it: rendered, and held against the schemas.
import { execFileSync } from 'node:child_process'
import * as path from 'node:path'
import { ExternalSecret } from '@kubernetes-models/external-secrets/external-secrets.io/v1/ExternalSecret'
import { SealedSecret } from '@kubernetes-models/sealed-secrets/bitnami.com/v1alpha1/SealedSecret'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { parseAllDocuments } from 'yaml'

// biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever a manifest holds
export type Manifest = Record<string, any>

export const DEPLOY = path.resolve(import.meta.dirname, '../../deploy')

const MODELS = {
  'apps/v1 Deployment': Deployment,
  'apps/v1 StatefulSet': StatefulSet,
  'bitnami.com/v1alpha1 SealedSecret': SealedSecret,
  'external-secrets.io/v1 ExternalSecret': ExternalSecret,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'v1 ConfigMap': ConfigMap,
  'v1 Secret': Secret,
  'v1 Service': Service,
} as unknown as Record<string, { prototype: { validate(this: object): void } }>

const RENDERERS = [
  ['kustomize', 'build'],
  ['kubectl', 'kustomize'],
] as const

/** The first program here that renders components (kustomize 4.1 or newer); undefined when there is none. */
export const renderer = RENDERERS.find(([program, verb]) => {
  try {
    return execFileSync(program, [verb, path.join(DEPLOY, 'kubernetes/examples/existing')], { stdio: 'pipe' })
  } catch {
    return false // not here, or too old
  }
})

/** Everything an overlay declares, in the order it is rendered. */
export function rendered(overlay: string): Manifest[] {
  const [program, verb] = renderer!
  const text = execFileSync(program, [verb, overlay], { encoding: 'utf8', stdio: 'pipe' })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** What is wrong with a manifest by its schema, fields that the schema does not know included. */
export function faults(manifest: Manifest): string[] {
  const name = `${manifest.apiVersion} ${manifest.kind}`
  const model = MODELS[name]
  if (!model) return [`${name}: nothing here knows this kind`]
  const seen = new Set<string>()
  try {
    model.prototype.validate.call(watched(manifest, '', seen))
  } catch (e) {
    return [`${name}: ${(e as Error).message}`]
  }
  return fields(manifest, '')
    .filter((field) => !seen.has(field))
    .map((field) => `${name}: ${field} is no field`)
}

/** The validators let unknown fields pass, but never look at them: what was not read is not known. */
function watched<T extends object>(value: T, place: string, seen: Set<string>): T {
  return new Proxy(value, {
    get(target, key) {
      const found = Reflect.get(target, key) as unknown
      if (typeof key !== 'string') return found
      const at = `${place}/${key}`
      seen.add(at)
      return typeof found === 'object' && found !== null ? watched(found, at, seen) : found
    },
  })
}

const fields = (value: object, place: string): string[] =>
  Object.entries(value).flatMap(([key, inner]) => {
    const at = `${place}/${key}`
    return [at, ...(typeof inner === 'object' && inner !== null ? fields(inner, at) : [])]
  })
