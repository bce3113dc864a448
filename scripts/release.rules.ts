// What a release is called and what is written about it; no clock, no machine.
import { versionOfTag } from '../src/system/host/release.rules.ts'

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
