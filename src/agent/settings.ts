// The table of the agent's settings: environment name, flag, meaning, default. Flags and --help are made from it.
import * as z from 'zod'
import { CAPTURE_BACKENDS, CaptureBackend } from '../wire/nodes.ts'
import { clientId } from '../wire/scalars.ts'
import { SAMPLE_FORMATS } from './audio/format.rules.ts'
import { PROGRAMS } from './capture/rights.rules.ts'
import { MACHINE_SETTINGS } from './settings.machine.ts'
import { MODE_SETTINGS } from './settings.modes.ts'
import {
  bool,
  controllerUrl,
  dbfs,
  filePath,
  milliseconds,
  optionalText,
  row,
  secret,
  standbyUrl,
  text,
  unlessOff,
  whole,
} from './settings.rows.ts'

const ALLOWED = Object.values(PROGRAMS).join()

export const SETTINGS = {
  controllerUrl: row('SVC_CONTROLLER_URL', 'Controller', 'base address (http://localhost:8787)', controllerUrl),
  standbyUrl: row(
    'SVC_CONTROLLER_STANDBY_URL',
    'Controller',
    'address of the second box, where there is one that may take over',
    standbyUrl,
  ),
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
    'PEM file of the only certificate authorities to trust (those of the system)',
    filePath,
    { aliases: ['controller-ca'] },
  ),
  clientCertFile: row(
    'SVC_CONTROLLER_CLIENT_CERT_PATH',
    'Controller',
    'PEM file of the certificate this node shows, where the controller asks for one',
    filePath,
  ),
  clientKeyFile: row(
    'SVC_CONTROLLER_CLIENT_KEY_PATH',
    'Controller',
    'PEM file of the private key of the certificate this node shows',
    filePath,
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
  uploadMaxKbps: row(
    'SVC_UPLOAD_MAX_KBPS',
    'Controller',
    'kilobits per second for all uploads together, 0 = no limit (0)',
    whole(0, 10_000_000, 0),
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
  jobPollSeconds: row(
    'SVC_JOB_POLL_SECONDS',
    'Recording',
    'seconds between job heartbeats, where the controller does not hold them open (2)',
    whole(1, 60, 2),
  ),
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
  captureAllowedCommands: row(
    'SVC_CAPTURE_ALLOWED_COMMANDS',
    'Recording',
    `programs the controller may choose, with commas (${ALLOWED})`,
    text(ALLOWED, 1000).transform((list) => list.split(',').map((one) => one.trim())),
  ),
  captureArgsTemplate: row(
    'SVC_CAPTURE_ARGS_TEMPLATE',
    'Recording',
    'arguments of the capture program, with {device} {format} {sample_rate} {channels} {output}',
    optionalText(1000),
    { kind: 'template' },
  ),
  captureDevice: row(
    'SVC_CAPTURE_DEVICE',
    'Recording',
    'device kept open for meters and listening (default)',
    text('default'),
  ),
  captureFormat: row(
    'SVC_CAPTURE_FORMAT',
    'Recording',
    `sample format of the capture device: ${SAMPLE_FORMATS.join(', ')} (S16_LE)`,
    z.enum(SAMPLE_FORMATS).default('S16_LE'),
  ),
  captureSampleRate: row(
    'SVC_CAPTURE_SAMPLE_RATE',
    'Recording',
    'sample rate of the capture device, Hz, where it does not say which it has (48000)',
    whole(8000, 384_000, 48_000),
  ),
  captureChannels: row(
    'SVC_CAPTURE_CHANNELS',
    'Recording',
    'channels of the capture device, where it does not say how many it has (2)',
    whole(1, 256, 2),
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
  captureChunkSeconds: row(
    'SVC_CAPTURE_CHUNK_SECONDS',
    'Recording',
    'seconds of a chunk when the job names none, 0 = one file (0)',
    whole(0, 604_800, 0),
  ),
  renderCommand: row('SVC_CHANNEL_RENDER_COMMAND', 'Recording', 'program that renders (ffmpeg)', text('ffmpeg')),
  denoiseModel: row(
    'SVC_DENOISE_MODEL',
    'Recording',
    'ONNX model of the deep denoiser (built in: small-deep-denoiser)',
    filePath,
  ),
  denoiseModelSha256: row(
    'SVC_DENOISE_MODEL_SHA256',
    'Recording',
    'SHA-256 that the model file must have',
    z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'expected 64 hexadecimal digits')
      .optional(),
  ),
  meterBackend: row(
    'SVC_METER_BACKEND',
    'Meters',
    'alsa, jack, pipewire, or synthetic: frames marked as made up (alsa)',
    z.enum([...CAPTURE_BACKENDS, 'synthetic']).default('alsa'),
  ),
  meterArgsTemplate: row(
    'SVC_METER_ARGS_TEMPLATE',
    'Meters',
    'arguments of the capture program while nothing is recorded, as for recording',
    optionalText(1000),
    { kind: 'template' },
  ),
  meterSampleSeconds: row('SVC_METER_SAMPLE_SECONDS', 'Meters', 'seconds each frame covers (1)', whole(1, 60, 1)),
  meterClipDbfs: row('SVC_METER_CLIP_DBFS', 'Meters', 'peak that counts as clipping, dBFS (-1)', dbfs(-1)),
  meterFlatlineDbfs: row(
    'SVC_METER_FLATLINE_DBFS',
    'Meters',
    'rms up to which a line is dead, dBFS (-120)',
    dbfs(-120),
  ),
  meterLowSignalDbfs: row(
    'SVC_METER_LOW_SIGNAL_DBFS',
    'Meters',
    'rms up to which a signal is low, dBFS (-55)',
    dbfs(-55),
  ),
  monitorChunkSync: row(
    'SVC_MONITOR_CHUNK_SYNC_ENABLED',
    'Meters',
    'send live audio while somebody listens; false: never (true)',
    unlessOff,
    { kind: 'presence' },
  ),
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
  ...MACHINE_SETTINGS,
  bootstrapToken: row('SVC_BOOTSTRAP_TOKEN', 'Bootstrap', 'single-use token, needed with --bootstrap', secret, {
    kind: 'secret',
  }),
  pairingCode: row(
    'SVC_PAIRING_CODE',
    'Bootstrap',
    'code in place of token and node id, with --bootstrap; - or no value: asked for, or read from standard input',
    optionalText(64),
  ),
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
  bootstrapForcedCommand: row(
    'SVC_BOOTSTRAP_FORCED_COMMAND',
    'Bootstrap',
    'the only command that key may run, with nothing else allowed (any)',
    z
      .string()
      .regex(/^[^"\\\r\n]{1,1000}$/, 'expected one line without quotes and backslashes')
      .optional(),
  ),
  sshHostKeys: row(
    'SVC_SSH_HOST_KEYS',
    'Bootstrap',
    "folder of the public keys of this machine's SSH server (/etc/ssh)",
    text('/etc/ssh', 4096),
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
  ...MODE_SETTINGS,
}

type Name = Exclude<keyof typeof SETTINGS, 'controllerToken' | 'bootstrapToken'>

/** Parsed values; the secrets are not among them, they have a source of their own. */
export type Settings = { [K in Name]: z.infer<(typeof SETTINGS)[K]['schema']> }
