// The table of the agent's settings: environment name, flag, meaning, default. Flags and --help are made from it.
import * as z from 'zod'
import { CaptureBackend } from '../wire/nodes.ts'
import { clientId } from '../wire/scalars.ts'

const whole = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^-?\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .optional()
    .transform((v) => v ?? fallback)

/** Time-outs are forgiving by contract: 0 or garbage means the default. */
const milliseconds = (fallback: number) =>
  z
    .string()
    .optional()
    .transform((v) => (v && /^[1-9]\d{0,9}$/.test(v) ? Number(v) : fallback))

const bool = z
  .enum(['1', '0', 'true', 'false'])
  .optional()
  .transform((v) => v === '1' || v === 'true')

const text = (fallback: string, max = 255) => z.string().trim().min(1).max(max).default(fallback)
const optionalText = (max: number) => z.string().trim().min(1).max(max).optional()
const filePath = z.string().min(1).max(4096).optional()
const secret = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{1,4096}$/, 'expected one word of printable characters')
  .optional()

const controllerUrl = z
  .string()
  .trim()
  .default('http://localhost:8787')
  .refine((v) => URL.canParse(v) && /^https?:$/.test(new URL(v).protocol), 'expected an http:// or https:// address')
  .refine((v) => !URL.canParse(v) || new URL(v).username === '', 'must not contain a user name or password')
  .transform((v) => v.replace(/\/+$/, ''))

type Group = 'Controller' | 'This node' | 'Recording' | 'Files' | 'Sound devices' | 'Bootstrap' | 'Modes'

interface Extra {
  /** Further flags beside the kebab-case of the env name. */
  aliases?: string[]
  /** `presence`: a flag without value; `secret`: also as `_FILE`; `template`: its value may begin with a hyphen. */
  kind?: 'presence' | 'secret' | 'template' | 'env-only'
}

export interface Row<S extends z.ZodType = z.ZodType> extends Extra {
  env: string
  group: Group
  help: string
  schema: S
}

const row = <S extends z.ZodType>(env: string, group: Group, help: string, schema: S, extra: Extra = {}): Row<S> => ({
  env,
  group,
  help,
  schema,
  ...extra,
})

export const SETTINGS = {
  controllerUrl: row('SVC_CONTROLLER_URL', 'Controller', 'base address (http://localhost:8787)', controllerUrl),
  controllerToken: row('SVC_CONTROLLER_TOKEN', 'Controller', 'node token; without it the agent stays offline', secret, {
    kind: 'secret',
  }),
  allowInsecure: row(
    'SVC_ALLOW_INSECURE_CONTROLLER',
    'Controller',
    'accept plain http and self-signed certificates (development only)',
    bool,
    { kind: 'presence', aliases: ['allow-insecure'] },
  ),
  controllerCa: row(
    'SVC_CONTROLLER_CA_CERT_PATH',
    'Controller',
    'PEM file of certificate authorities to trust as well',
    filePath,
    { aliases: ['controller-ca'] },
  ),
  connectTimeoutMs: row(
    'SVC_CONTROLLER_CONNECT_TIMEOUT_MS',
    'Controller',
    'ms until connected (10000)',
    milliseconds(10_000),
    { kind: 'env-only' },
  ),
  readTimeoutMs: row('SVC_CONTROLLER_READ_TIMEOUT_MS', 'Controller', 'ms of silence (60000)', milliseconds(60_000), {
    kind: 'env-only',
  }),
  requestTimeoutMs: row(
    'SVC_CONTROLLER_REQUEST_TIMEOUT_MS',
    'Controller',
    'ms for a whole request (3600000)',
    milliseconds(3_600_000),
    { kind: 'env-only' },
  ),
  nodeId: row(
    'SVC_NODE_ID',
    'This node',
    'id given at enrollment (node_local_dev)',
    clientId.default('node_local_dev'),
  ),
  nodeAlias: row('SVC_NODE_ALIAS', 'This node', 'name of the node', text('Local Recorder Node', 160), {
    aliases: ['alias'],
  }),
  nodeSite: row('SVC_NODE_SITE', 'This node', 'site of the node', text('Unassigned Site', 160), { aliases: ['site'] }),
  nodeRoom: row('SVC_NODE_ROOM', 'This node', 'room of the node', text('Unassigned Room', 160), { aliases: ['room'] }),
  heartbeatSeconds: row('SVC_HEARTBEAT_SECONDS', 'This node', 'seconds between heartbeats (5)', whole(1, 3600, 5)),
  logLevel: row(
    'SVC_LOG_LEVEL',
    'This node',
    'debug, info, warn or error (info)',
    z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  ),
  jobPollSeconds: row('SVC_JOB_POLL_SECONDS', 'Recording', 'seconds between job heartbeats (2)', whole(1, 60, 2)),
  maxConcurrentRecordings: row(
    'SVC_MAX_CONCURRENT_RECORDINGS',
    'Recording',
    'until the controller says otherwise (1)',
    whole(1, 128, 1),
  ),
  captureBackend: row(
    'SVC_CAPTURE_BACKEND',
    'Recording',
    'alsa, jack or pipewire (alsa)',
    CaptureBackend.default('alsa'),
  ),
  captureCommand: row('SVC_CAPTURE_COMMAND', 'Recording', 'program that captures (arecord)', text('arecord')),
  captureArgsTemplate: row(
    'SVC_CAPTURE_ARGS_TEMPLATE',
    'Recording',
    'arguments of the capture program, with {device} {format} {sample_rate} {channels} {output}',
    optionalText(1000),
    { kind: 'template' },
  ),
  captureGrowthGraceSeconds: row(
    'SVC_CAPTURE_GROWTH_GRACE_SECONDS',
    'Recording',
    'seconds until the first sound must have come (10)',
    whole(0, 3600, 10),
  ),
  captureStalledSeconds: row(
    'SVC_CAPTURE_STALLED_SECONDS',
    'Recording',
    'seconds without new sound that count as stalled (30)',
    whole(1, 3600, 30),
  ),
  renderCommand: row('SVC_CHANNEL_RENDER_COMMAND', 'Recording', 'program that renders (ffmpeg)', text('ffmpeg')),
  agentDir: row('SVC_AGENT_DIR', 'Files', 'state, takes and health log (data/agent)', text('data/agent', 4096)),
  healthLogFile: row(
    'SVC_AGENT_HEALTH_LOG_FILE',
    'Files',
    'local health log (health-events.jsonl in the agent directory)',
    filePath,
  ),
  healthLogMaxBytes: row(
    'SVC_AGENT_HEALTH_LOG_MAX_BYTES',
    'Files',
    'rotate at this size, 0 = never (1048576)',
    whole(0, 2 ** 40, 1_048_576),
  ),
  healthLogRetainedFiles: row(
    'SVC_AGENT_HEALTH_LOG_RETAINED_FILES',
    'Files',
    'rotated files kept (3)',
    whole(0, 1000, 3),
  ),
  arecordCommand: row(
    'SVC_INVENTORY_ARECORD_COMMAND',
    'Sound devices',
    'program that lists devices (arecord)',
    text('arecord'),
  ),
  procAsoundPcm: row(
    'SVC_INVENTORY_PROC_ASOUND_PCM_PATH',
    'Sound devices',
    'list of devices when that program fails (/proc/asound/pcm)',
    filePath,
  ),
  alsaProcRoot: row(
    'SVC_ALSA_PROC_ROOT',
    'Sound devices',
    'folder that stands for /proc/asound; it alone says which devices exist',
    filePath,
  ),
  testSource: row('SVC_TEST_SOURCE', 'Sound devices', 'offer a test tone when there is no capture device', bool, {
    kind: 'presence',
  }),
  bootstrapToken: row('SVC_BOOTSTRAP_TOKEN', 'Bootstrap', 'single-use token, needed with --bootstrap', secret, {
    kind: 'secret',
  }),
  bootstrapAuthorizedKeys: row(
    'SVC_BOOTSTRAP_AUTHORIZED_KEYS',
    'Bootstrap',
    'file that gets the public key ($HOME/.ssh/authorized_keys)',
    filePath,
  ),
  bootstrapEnvFile: row(
    'SVC_BOOTSTRAP_ENV_FILE',
    'Bootstrap',
    'file that gets the node token (recorder-agent.env)',
    text('recorder-agent.env', 4096),
  ),
  bootstrapUser: row(
    'SVC_BOOTSTRAP_USER',
    'Bootstrap',
    'user the key logs in as (the user running this)',
    z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'expected a Unix user name')
      .optional(),
  ),
  sshKeygenCommand: row(
    'SVC_SSH_KEYGEN_COMMAND',
    'Bootstrap',
    'program that makes the key (ssh-keygen)',
    text('ssh-keygen'),
  ),
  bootstrap: row(
    'SVC_BOOTSTRAP',
    'Modes',
    'join the controller once: make a key, trade the token, write the env file',
    bool,
    { kind: 'presence' },
  ),
  runNextJob: row('SVC_RUN_NEXT_JOB', 'Modes', 'claim and run one job (or group), then exit', bool, {
    kind: 'presence',
  }),
}

type Name = Exclude<keyof typeof SETTINGS, 'controllerToken' | 'bootstrapToken'>

/** Parsed values; the secrets are not among them, they have a source of their own. */
export type Settings = { [K in Name]: z.infer<(typeof SETTINGS)[K]['schema']> }
