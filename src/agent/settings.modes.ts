// Settings of what is done once, by hand: a recording without a job, a file for a recording, a look at the channel maps.
import * as z from 'zod'
import { CODECS } from '../wire/profiles.ts'
import { bool, filePath, optionalText, row, unlessOff, whole } from './settings.rows.ts'

const seconds = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'expected a number of seconds')
  .transform(Number)
  .optional()

export const MODE_SETTINGS = {
  printChannelMapAssignments: row(
    'SVC_PRINT_CHANNEL_MAP_ASSIGNMENTS',
    'Modes',
    'print the channel maps assigned to this node, then exit',
    bool,
    { kind: 'presence' },
  ),
  attachCacheFile: row('SVC_ATTACH_CACHE_FILE', 'Modes', 'upload this file for a recording, then exit', filePath),
  attachCacheRecordingId: row(
    'SVC_ATTACH_CACHE_RECORDING_ID',
    'Modes',
    'the recording that file belongs to',
    optionalText(160),
  ),
  attachCacheContentType: row(
    'SVC_ATTACH_CACHE_CONTENT_TYPE',
    'Modes',
    'content type of the attached file (by its extension, else audio/mpeg)',
    optionalText(160),
  ),
  attachCacheDurationSeconds: row(
    'SVC_ATTACH_CACHE_DURATION_SECONDS',
    'Modes',
    'length of the attached file in seconds (measured)',
    seconds,
  ),
  attachCacheFileName: row(
    'SVC_ATTACH_CACHE_FILE_NAME',
    'Modes',
    'name of the attached file for people (its own)',
    optionalText(255),
  ),
  captureRecordingId: row(
    'SVC_CAPTURE_RECORDING_ID',
    'Modes',
    'record for this recording without a job, upload, then exit',
    optionalText(160),
  ),
  captureSeconds: row('SVC_CAPTURE_SECONDS', 'Modes', 'length of that take in seconds (60)', whole(1, 604_800, 60)),
  captureOutput: row('SVC_CAPTURE_OUTPUT', 'Modes', 'file that gets a copy of that take', filePath),
  captureOutputCodec: row(
    'SVC_CAPTURE_OUTPUT_CODEC',
    'Modes',
    'wav, flac or mp3 (by the extension of that file, else wav)',
    z.enum(CODECS).optional(),
  ),
  captureOutputBitrateKbps: row(
    'SVC_CAPTURE_OUTPUT_BITRATE_KBPS',
    'Modes',
    'bitrate of an mp3 (128)',
    whole(8, 320, 128),
  ),
  captureOutputVbr: row('SVC_CAPTURE_OUTPUT_VBR', 'Modes', 'variable bitrate of an mp3 (true)', unlessOff),
}
