// What deploy/ has for Prometheus and Grafana, read for tests.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { parse } from 'yaml'
import { DEPLOY } from './manifests.ts'

export const PROMETHEUS = path.join(DEPLOY, 'prometheus')
const GRAFANA = path.join(DEPLOY, 'grafana')

export interface Rule {
  alert?: string
  annotations?: Record<string, string>
  expr: string
  for?: string
  labels?: Record<string, string>
  record?: string
}

/** Every rule, of all groups. */
export function rules(): Rule[] {
  const text = fs.readFileSync(path.join(PROMETHEUS, 'roomtone.rules.yml'), 'utf8')
  return (parse(text).groups as { rules: Rule[] }[]).flatMap((group) => group.rules)
}

export interface Panel {
  datasource?: { type: string; uid: string }
  gridPos: { h: number; w: number; x: number; y: number }
  id: number
  targets?: { datasource: { uid: string }; expr: string; refId: string }[]
  title: string
  type: string
}

export interface Dashboard {
  file: string
  panels: Panel[]
  schemaVersion: number
  templating: { list: { name: string; query: string | { query: string }; regex: string; type: string }[] }
  title: string
  uid: string
}

export const dashboards = (): Dashboard[] =>
  fs
    .readdirSync(GRAFANA)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({ file, ...JSON.parse(fs.readFileSync(path.join(GRAFANA, file), 'utf8')) }))

/** A file of Grafana's provisioning. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever it holds
export const provisioning = (name: string): any => parse(fs.readFileSync(path.join(GRAFANA, name), 'utf8'))

/** A query as Grafana sends it, with these values of its variables. */
export function filledIn(text: string, values: Record<string, string>): string {
  const own: Record<string, string> = { __rate_interval: '1m', ...values }
  return text.replaceAll(/\$\{?(\w+)\}?/g, (whole, name: string) => own[name] ?? whole)
}
