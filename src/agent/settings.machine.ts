// Settings of what the agent keeps on its disk, and of how it looks after the machine.
import * as z from 'zod'
import { bool, filePath, optionalText, row, text, unlessOff } from './settings.rows.ts'

const number = (fallback: number, max: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'expected a number')
    .transform(Number)
    .pipe(z.number().gt(0).max(max))
    .optional()
    .transform((v) => v ?? fallback)

export const MACHINE_SETTINGS = {
  keepUploaded: row(
    'SVC_AGENT_KEEP_UPLOADED',
    'Files',
    'keep takes the controller has where no retention policy says otherwise (false: deleted)',
    bool,
    { kind: 'presence' },
  ),
  cacheManifestFile: row(
    'SVC_RECORDER_CACHE_MANIFEST_FILE',
    'Files',
    'list of the kept takes (recorder-cache-manifest.json in the agent directory)',
    filePath,
  ),
  stateFile: row(
    'SVC_AGENT_STATE_FILE',
    'Files',
    'shows the latest state of any job (job-state.json in the agent directory)',
    filePath,
  ),
  healthLogStore: row(
    'SVC_AGENT_HEALTH_LOG_STORE',
    'Files',
    'kind of the local health log: jsonl or sqlite (jsonl)',
    z.enum(['jsonl', 'sqlite']).default('jsonl'),
  ),
  healthSqliteFile: row(
    'SVC_AGENT_HEALTH_SQLITE_FILE',
    'Files',
    'SQLite health log (health-events.sqlite3 in the agent directory)',
    filePath,
  ),
  systemHealth: row('SVC_SYSTEM_HEALTH_ENABLED', 'Machine', 'watch disk, load and sound devices (true)', unlessOff, {
    kind: 'presence',
  }),
  dfCommand: row(
    'SVC_SYSTEM_HEALTH_DF_COMMAND',
    'Machine',
    'program that answers as df -Pk does (unset: the kernel is asked)',
    optionalText(4096),
  ),
  diskPath: row(
    'SVC_SYSTEM_HEALTH_DISK_PATH',
    'Machine',
    'directory whose disk is watched (the agent directory)',
    filePath,
  ),
  diskWarningPercent: row(
    'SVC_SYSTEM_HEALTH_DISK_WARNING_PERCENT',
    'Machine',
    'used space worth a warning, percent (85)',
    number(85, 100),
  ),
  diskCriticalPercent: row(
    'SVC_SYSTEM_HEALTH_DISK_CRITICAL_PERCENT',
    'Machine',
    'used space that is critical, percent (95)',
    number(95, 100),
  ),
  loadWarningPerCore: row(
    'SVC_SYSTEM_HEALTH_LOAD_WARNING_PER_CORE',
    'Machine',
    'load of one minute per core worth a warning (2)',
    number(2, 1000),
  ),
  loadCriticalPerCore: row(
    'SVC_SYSTEM_HEALTH_LOAD_CRITICAL_PER_CORE',
    'Machine',
    'load of one minute per core that is critical (4)',
    number(4, 1000),
  ),
  loadavgPath: row(
    'SVC_SYSTEM_HEALTH_LOADAVG_PATH',
    'Machine',
    'where the load is read (/proc/loadavg)',
    text('/proc/loadavg', 4096),
  ),
}
