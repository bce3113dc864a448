// What a row of the table of settings is made of: how texts of flags and environment become values.
import * as z from 'zod'
import { flag } from '../kernel/settings.ts'

export const whole = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^-?\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .optional()
    .transform((v) => v ?? fallback)

export const dbfs = (fallback: number) =>
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, 'expected a number of decibels')
    .transform(Number)
    .pipe(z.number().min(-160).max(0))
    .optional()
    .transform((v) => v ?? fallback)

/** Time-outs are forgiving by contract: 0 or garbage means the default. */
export const milliseconds = (fallback: number) =>
  z
    .string()
    .optional()
    .transform((v) => (v && /^[1-9]\d{0,9}$/.test(v) ? Number(v) : fallback))

export const bool = flag.default(false)
export const unlessOff = flag.default(true)

export const text = (fallback: string, max = 255) => z.string().trim().min(1).max(max).default(fallback)
export const optionalText = (max: number) => z.string().trim().min(1).max(max).optional()
export const filePath = z.string().min(1).max(4096).optional()
export const secret = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{1,4096}$/, 'expected one word of printable characters')
  .optional()

const address = z
  .string()
  .trim()
  .refine((v) => URL.canParse(v) && /^https?:$/.test(new URL(v).protocol), 'expected an http:// or https:// address')
  .refine((v) => !URL.canParse(v) || new URL(v).username === '', 'must not contain a user name or password')
  .transform((v) => v.replace(/\/+$/, ''))
export const controllerUrl = address.default('http://localhost:8787')
export const standbyUrl = address.optional()

type Group =
  | 'Controller'
  | 'This node'
  | 'Recording'
  | 'Meters'
  | 'Files'
  | 'Sound devices'
  | 'Bootstrap'
  | 'Modes'
  | 'Machine'

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

export const row = <S extends z.ZodType>(
  env: string,
  group: Group,
  help: string,
  schema: S,
  extra: Extra = {},
): Row<S> => ({
  env,
  group,
  help,
  schema,
  ...extra,
})
