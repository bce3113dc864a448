import { conflict, Fail, found } from '../../../kernel/fail.ts'
import type { Template, TemplateInput, TemplatePatch } from '../../../wire/channels.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { sourceChannels } from './maps.rules.ts'

type Row = { [K in Exclude<keyof Template, 'entries' | 'tags'>]-?: Template[K] | null } & {
  entries: string
  tags: string
}

const COLUMNS = `x.id, x.name, x.channel_mode AS channelMode, x.entries, x.tags, x.revision, x.promoted_at AS promotedAt,
  x.promoted_from AS promotedFromTemplateId`

const templateOf = (row: Row): Template =>
  present({ ...row, entries: JSON.parse(row.entries), tags: JSON.parse(row.tags) }) as Template

const columns = (t: Template, now: string): Params => ({
  id: t.id,
  name: t.name,
  channelMode: t.channelMode,
  entries: JSON.stringify(t.entries),
  tags: JSON.stringify(t.tags),
  now,
})

export function templateStore(db: Db) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'channel_map_templates x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM channel_map_templates x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO channel_map_templates (id, name, channel_mode, entries, tags, created_at, updated_at)
     VALUES (@id, @name, @channelMode, @entries, @tags, @now, @now) ON CONFLICT (id) DO NOTHING`,
  )
  // A new revision is promoted at once, from itself (docs/contract/recordings.md: Channel maps); both are kept.
  const update = db.stmt<Params>(
    `UPDATE channel_map_templates SET name = @name, channel_mode = @channelMode, entries = @entries, tags = @tags,
       revision = revision + 1, promoted_at = @now, promoted_from = id, updated_at = @now WHERE id = @id`,
  )
  const tooNarrow = db.stmt<{ id: string; needed: number }, { id: string; alias: string; channelCount: number }>(
    `SELECT i.id, i.alias, i.channel_count AS channelCount
       FROM channel_map_assignments a JOIN interfaces i ON i.id = a.interface_id
      WHERE a.template_id = @id AND i.channel_count BETWEEN 1 AND @needed - 1 LIMIT 1`,
  )

  const find = (id: string): Template | undefined => {
    const row = byId.get({ id })
    return row && templateOf(row)
  }
  const get = (id: string): Template => found(find(id), 'Channel map template')

  return {
    /** @throws Fail 404 `channel_map_template_not_found`. */
    get,
    /** A template named in a body. @throws Fail 404 `template_not_found`. */
    named(id: string): Template {
      const template = find(id)
      if (!template) throw new Fail(404, 'template_not_found', 'Channel map template not found')
      return template
    },
    /** Newest first. */
    list: (visibility: Visibility): Template[] =>
      list.all(visibility.own('channel_map_template'), 'x.created_at DESC, x.id').map(templateOf),
    /** @throws Fail 409 `channel_map_template_exists`. */
    create(id: string, input: TemplateInput, now: string): Template {
      const made = insert.run(columns({ ...input, id, revision: 1 }, now))
      if (made === 0) throw conflict('channel_map_template_exists', 'Channel map template already exists')
      return get(id)
    },
    /** @throws Fail 409 `channel_map_beyond_device` when an interface that has this map lacks the channels. */
    patch(id: string, patch: TemplatePatch, now: string): { before: Template; after: Template } {
      const before = get(id)
      const next = { ...before, ...(present(patch) as Partial<Template>) }
      const narrow = tooNarrow.get({ id, needed: sourceChannels(next.entries) })
      if (narrow) throw beyondDevice(next, narrow.channelCount, { targetId: narrow.id, targetType: 'interface' })
      update.run(columns(next, now))
      return { before, after: get(id) }
    },
  }
}
export type TemplateStore = ReturnType<typeof templateStore>

/** The error for a map that needs channels the device does not have. */
export function beyondDevice(
  template: Pick<Template, 'entries'>,
  channelCount: number,
  target: { targetId: string; targetType: string },
): Fail {
  const needed = sourceChannels(template.entries)
  return conflict(
    'channel_map_beyond_device',
    `The map reads source channel ${needed}, but ${target.targetType} ${target.targetId} has ${channelCount}`,
    { ...target, channelCount, sourceChannels: needed },
  )
}
