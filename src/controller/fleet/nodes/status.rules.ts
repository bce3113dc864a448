// The status of a node, as everybody is told it (docs/contract/nodes.md: Status).

/** Statuses that only the controller gives: of a node in one of them nothing is heard. */
export const SILENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

/** SQL of node `n`: offline is derived at read, silent since before `@offlineBefore`, but never before first contact. */
export const STATUS = `CASE WHEN n.status NOT IN ('provisioning', 'retired') AND n.last_seen_at < @offlineBefore THEN 'offline' ELSE n.status END`
