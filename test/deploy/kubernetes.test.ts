import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, describe, test } from 'node:test'
import { readConfig, SETTINGS } from '../../src/controller/config.ts'
import { readServerSettings } from '../../src/lifecycle/config.ts'
import { House, until } from '../kit/whole.ts'
import { DEPLOY, faults, type Manifest, rendered, renderer } from './manifests.ts'

const KUBERNETES = path.join(DEPLOY, 'kubernetes')
const EXAMPLES = ['native', 'external', 'sealed', 'existing'] as const
const BACKENDS = { existing: [], external: ['ExternalSecret'], native: ['Secret'], sealed: ['SealedSecret'] }
const SECRETS = Object.keys(SETTINGS).filter((name) => /(?<!_PUBLIC)_(KEY|TOKEN|PASSWORD|SECRET)$/.test(name))

// The native backend reads a file that is nobody's to commit: it is made in a copy.
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-deploy-'))
after(() => fs.rmSync(work, { recursive: true, force: true }))
fs.cpSync(KUBERNETES, work, { recursive: true })
const NATIVE = path.join(work, 'components/secrets-native')
const example = fs.readFileSync(path.join(NATIVE, 'secrets.env.example'), 'utf8')
const secret = (name: string): string => `value-of-${name.toLowerCase()}`
fs.writeFileSync(
  path.join(NATIVE, 'secrets.env'),
  example.replace(/^(\w+)=$/gm, (_, name: string) => `${name}=${secret(name)}`),
)

const one = (manifests: Manifest[], kind: string, name = 'roomtone'): Manifest => {
  const found = manifests.filter((m) => m.kind === kind && m.metadata.name === name)
  assert.equal(found.length, 1, `${kind} ${name}`)
  return found[0]!
}
const podOf = (workload: Manifest) => workload.spec.template.spec
const containersOf = (pod: Manifest): Manifest[] => [...(pod.initContainers ?? []), ...pod.containers]
const refsOf = (pod: Manifest): { key: string; name: string; optional?: boolean; variable: string }[] =>
  containersOf(pod).flatMap((c) =>
    (c.env ?? []).map((e: Manifest) => ({ variable: e.name, ...e.valueFrom.secretKeyRef })),
  )

/** The status of an address, whoever vouches for its certificate. */
function statusOf(url: string): Promise<number | undefined> {
  const { get } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    }).once('error', reject)
  })
}

/** What the program in a container finds in its environment; mounted files lie in `work`. */
function environment(manifests: Manifest[], container: Manifest): Record<string, string> {
  const maps = container.envFrom.map((from: Manifest) => one(manifests, 'ConfigMap', from.configMapRef.name).data)
  const secrets = container.env.map((e: Manifest) => [e.name, secret(e.name)])
  const env: Record<string, string> = Object.assign({}, ...maps, Object.fromEntries(secrets))
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace('/run/tls', work)]))
}

describe('kubernetes', { skip: renderer ? false : 'needs kubectl or kustomize 4.1 (Debian 13: kustomize)' }, () => {
  const all = new Map(renderer ? EXAMPLES.map((name) => [name, rendered(path.join(work, 'examples', name))]) : [])
  const of = (name: (typeof EXAMPLES)[number]): Manifest[] => all.get(name)!

  test('an existing Secret is taken under its own name by every component, wherever in the list it stands', () => {
    const others = fs.readdirSync(path.join(work, 'components')).filter((name) => !name.startsWith('secrets-'))
    assert.ok(others.length >= 4)
    for (const components of [
      ['secrets-existing', ...others],
      [...others, 'secrets-existing'],
    ]) {
      const overlay = path.join(work, 'examples', 'every')
      fs.mkdirSync(overlay, { recursive: true })
      const listed = components.map((name) => `  - ../../components/${name}\n`).join('')
      const existing = fs.readFileSync(path.join(work, 'examples/existing/kustomization.yaml'), 'utf8')
      const text = existing.replace(/components:\n( {2}- .*\n)+/, () => `components:\n${listed}`)
      fs.writeFileSync(path.join(overlay, 'kustomization.yaml'), text)
      const manifests = rendered(overlay)
      assert.deepEqual(
        manifests.filter((m) => /Secret/.test(m.kind)),
        [],
        'nothing writes it',
      )
      const pods = manifests.filter((m) => /StatefulSet|Deployment/.test(m.kind)).map(podOf)
      const mounted = pods.flatMap((pod) => (pod.volumes ?? []).flatMap((v: Manifest) => v.secret?.secretName ?? []))
      const names = new Set([...pods.flatMap(refsOf).map((ref) => ref.name), ...mounted])
      assert.deepEqual([pods.length, [...names]], [2, ['recorders-of-the-north']])
    }
  })

  for (const name of EXAMPLES) {
    test(`${name}: every manifest fits the schema, also in what it does not say`, () => {
      assert.deepEqual(of(name).flatMap(faults), [])
      assert.ok(of(name).every((m) => m.metadata.namespace === 'roomtone'))
    })

    test(`${name}: secrets come from one Secret by one backend, and none is written down`, () => {
      const kinds = of(name).map((m) => m.kind)
      assert.deepEqual(
        kinds.filter((kind) => /Secret/.test(kind)),
        BACKENDS[name],
      )
      const pods = of(name)
        .filter((m) => /StatefulSet|Deployment/.test(m.kind))
        .map(podOf)
      const volumes = pods
        .flatMap((pod) => pod.volumes)
        .flatMap((v: Manifest) => (v.secret ? [v.secret.secretName] : []))
      const names = new Set([...pods.flatMap(refsOf).map((ref) => ref.name), ...volumes])
      assert.deepEqual([...names], [name === 'existing' ? 'recorders-of-the-north' : 'roomtone-secrets'])
      // Whatever is not the Secret itself holds settings, never a secret's value.
      for (const m of of(name).filter((m) => m.kind === 'ConfigMap'))
        for (const key of Object.keys(m.data)) assert.equal(SECRETS.includes(key), false, key)
    })

    test(`${name}: pods may do what the restricted profile allows, and no more`, () => {
      for (const m of of(name).filter((m) => /StatefulSet|Deployment/.test(m.kind))) {
        const pod = podOf(m)
        assert.equal(m.spec.replicas, 1)
        assert.equal(pod.automountServiceAccountToken, false)
        assert.equal(pod.securityContext.runAsNonRoot, true)
        assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault')
        assert.ok(!pod.hostNetwork && !pod.hostPID && !pod.hostIPC)
        const volumes = pod.volumes.concat(m.spec.volumeClaimTemplates ?? [])
        for (const volume of pod.volumes) assert.ok(volume.emptyDir || volume.secret || volume.configMap, volume.name)
        for (const c of containersOf(pod)) {
          const { allowPrivilegeEscalation, capabilities, readOnlyRootFilesystem } = c.securityContext
          assert.deepEqual(
            [allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities],
            [false, true, { drop: ['ALL'] }],
          )
          assert.ok(c.resources.requests.cpu && c.resources.requests.memory && c.resources.limits.memory, c.name)
          for (const mount of c.volumeMounts)
            assert.ok(
              volumes.some((v: Manifest) => (v.name ?? v.metadata.name) === mount.name),
              `${c.name} mounts ${mount.name}`,
            )
        }
      }
    })
  }

  test('every secret setting of the controller is taken from the Secret, two of them have to be there', () => {
    const refs = refsOf(podOf(one(of('native'), 'StatefulSet')))
    assert.deepEqual(refs.map((ref) => ref.key).sort(), [...SECRETS].sort())
    assert.ok(refs.every((ref) => ref.variable === ref.key))
    const needed = refs.filter((ref) => !ref.optional).map((ref) => ref.key)
    assert.deepEqual(needed, ['SVC_SECRET_KEY', 'SVC_LOCAL_ADMIN_PASSWORD'])
  })

  test('the file of the native backend holds every key that anything asks for', () => {
    const made = one(of('native'), 'Secret', 'roomtone-secrets').data as Record<string, string>
    for (const name of EXAMPLES)
      for (const m of of(name).filter((m) => /StatefulSet|Deployment/.test(m.kind)))
        for (const { key } of refsOf(podOf(m))) assert.ok(key in made, `${name}: ${key}`)
    for (const [key, value] of Object.entries(made)) assert.equal(Buffer.from(value, 'base64').toString(), secret(key))
  })

  test('the same file gives the same Secret again: an apply keeps its values', () => {
    const again = rendered(path.join(work, 'examples/native'))
    assert.deepEqual(one(again, 'Secret', 'roomtone-secrets'), one(of('native'), 'Secret', 'roomtone-secrets'))
  })

  test('nothing committed holds a value of a secret', () => {
    for (const file of fs.readdirSync(DEPLOY, { recursive: true, withFileTypes: true })) {
      if (!file.isFile() || file.name === 'secrets.env') continue
      const text = fs.readFileSync(path.join(file.parentPath, file.name), 'utf8')
      for (const key of [...SECRETS, 'LITESTREAM_ACCESS_KEY_ID', 'LITESTREAM_SECRET_ACCESS_KEY'])
        assert.doesNotMatch(text, new RegExp(`${key}[ \\t]*[=:][ \\t]*(?!REPLACE)[^\\s,}]`), file.name)
    }
    const ignored = fs.readFileSync(path.join(KUBERNETES, '.gitignore'), 'utf8')
    assert.match(ignored, /^components\/secrets-native\/secrets\.env$/m)
  })

  test('controller and runner take the settings and secrets that they are given', () => {
    for (const name of EXAMPLES) {
      for (const m of of(name).filter((m) => /StatefulSet|Deployment/.test(m.kind))) {
        const runner = m.kind === 'Deployment'
        const [container] = podOf(m).containers
        const env = environment(of(name), container)
        for (const file of ['tls.crt', 'tls.key']) fs.writeFileSync(path.join(work, file), 'x')
        if (runner) assert.equal(readServerSettings(env).port, 8790)
        else assert.equal(readConfig(env).SVC_DATA_DIR, '/data')
        assert.equal(container.args[0], runner ? 'lifecycle' : 'controller')
      }
    }
  })

  test('probes ask what the controller answers, over TLS where it speaks TLS', () => {
    for (const name of EXAMPLES) {
      const [controller] = podOf(one(of(name), 'StatefulSet')).containers
      const secure = name !== 'native'
      const probes = [controller.startupProbe, controller.livenessProbe, controller.readinessProbe]
      assert.deepEqual(
        probes.map((probe) => [probe.httpGet.path, probe.httpGet.scheme ?? 'HTTP']),
        ['/healthz', '/healthz', '/readyz'].map((at) => [at, secure ? 'HTTPS' : 'HTTP']),
      )
    }
  })

  test('a node can be drained, recorders outside get in, and the stop has its time', () => {
    for (const name of EXAMPLES) {
      const { maxUnavailable, minAvailable, unhealthyPodEvictionPolicy } = one(of(name), 'PodDisruptionBudget').spec
      assert.deepEqual([maxUnavailable, minAvailable, unhealthyPodEvictionPolicy], [1, undefined, 'AlwaysAllow'])
      assert.deepEqual(one(of(name), 'NetworkPolicy').spec.ingress, [{ ports: [{ port: 'api' }] }])
      const pod = podOf(one(of(name), 'StatefulSet'))
      assert.ok(pod.terminationGracePeriodSeconds > 10)
      const { failureThreshold, periodSeconds } = pod.containers[0].startupProbe
      assert.ok(failureThreshold * periodSeconds >= 1800)
      assert.equal(pod.securityContext.fsGroup, pod.securityContext.runAsGroup)
      const { ports, type } = one(of(name), 'Service').spec
      assert.equal(type, name === 'sealed' ? 'LoadBalancer' : undefined)
      const [container] = pod.containers
      for (const { targetPort } of ports) assert.ok(container.ports.some((p: Manifest) => p.name === targetPort))
    }
    assert.deepEqual(
      one(of('sealed'), 'Service').spec.ports.map((p: Manifest) => p.port),
      [443, 8787],
    )
  })

  for (const name of ['native', 'existing'] as const)
    test(`${name}: a controller started like this answers its probes`, async () => {
      const house = await House.open()
      try {
        const [container] = podOf(one(of(name), 'StatefulSet')).containers
        const subject = ['-subj', '/CN=roomtone', '-days', '1', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
        const pair = ['-keyout', path.join(work, 'tls.key'), '-out', path.join(work, 'tls.crt')]
        execFileSync('openssl', ['req', '-x509', '-nodes', ...subject, ...pair], { stdio: 'pipe' })
        const own = { SVC_DATA_DIR: house.path('data'), SVC_HOST: '127.0.0.1', SVC_PORT: '0' }
        const env = { ...environment(of(name), container), ...own }
        const program = house.start(container.args, { cwd: house.path('data'), env })
        const url = await until('the controller to listen', () => /^\{"url":"([^"]+)"/m.exec(program.said())?.[1])
        for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
          assert.equal(new URL(url).protocol, `${httpGet.scheme ?? 'HTTP'}:`.toLowerCase())
          assert.equal(await statusOf(url + httpGet.path), 200)
        }
        assert.equal(program.said().includes(secret('SVC_LOCAL_ADMIN_PASSWORD')), false)
      } finally {
        await house.close()
      }
    })

  test('a changed setting gets another name, so that pods take it up', () => {
    const nameOf = (overlay: string): string => {
      const settings = rendered(overlay).find((m) => m.metadata.name.startsWith('roomtone-lifecycle-settings'))!
      assert.equal(settings.data.SVC_RUNNER_CONTROLLER_URL.startsWith('https://'), true)
      return settings.metadata.name
    }
    const overlay = path.join(work, 'examples/sealed')
    const before = nameOf(overlay)
    const file = path.join(overlay, 'kustomization.yaml')
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('https://recorders.example', 'https://other.example'))
    assert.notEqual(nameOf(overlay), before)
  })

  test('the database is replicated from before the controller starts until after it has ended', () => {
    const pod = podOf(one(of('external'), 'StatefulSet'))
    const [restore, replicate] = pod.initContainers
    assert.deepEqual([restore.args[0], replicate.args[0], replicate.restartPolicy], ['restore', 'replicate', 'Always'])
    assert.ok(restore.args.includes('-if-db-not-exists') && restore.args.includes('-if-replica-exists'))
    assert.equal(restore.args.at(-1), '/data/roomtone.db')
    const settings = of('external').find((m) => m.metadata.name.startsWith('roomtone-settings'))!
    assert.equal(settings.data.SVC_DATABASE_REPLICATED, 'true')
  })
})

test('Litestream is told the same in a pod as on a box, but for the place of the database', () => {
  const read = (...at: string[]): string => fs.readFileSync(path.join(DEPLOY, ...at), 'utf8')
  assert.equal(
    read('kubernetes/components/litestream/litestream.yml'),
    read('litestream/litestream-0.5.yml').replace('/var/lib/roomtone/controller/roomtone.db', '/data/roomtone.db'),
  )
})
