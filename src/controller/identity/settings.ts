import * as z from 'zod'
import { choice, count, type SettingsTable } from '../../kernel/settings.ts'

/** The first admin, sign-in through a provider, limits of failed logins. */
export const IDENTITY_SETTINGS = {
  SVC_LOCAL_ADMIN_EMAIL: [z.email().toLowerCase().default('admin@roomtone.local'), 'e-mail of the first admin'],
  SVC_LOCAL_ADMIN_NAME: [z.string().min(1).max(160).default('Local Admin'), 'name of the first admin'],
  SVC_LOCAL_ADMIN_PASSWORD: [
    z.string().min(8).max(200).optional(),
    'password of the first admin (default: generated and logged once)',
  ],
  SVC_OIDC_ENABLED: [choice(false), 'whether people may log in through an identity provider'],
  SVC_OIDC_ISSUER: [z.url().optional(), 'issuer of the identity provider'],
  SVC_OIDC_AZURE_TENANT_ID: [z.string().min(1).optional(), 'Microsoft Entra ID tenant, instead of an issuer'],
  SVC_OIDC_CLIENT_ID: [z.string().min(1).optional(), 'client id at the identity provider'],
  SVC_OIDC_CLIENT_SECRET: [z.string().min(1).optional(), 'client secret; without one this is a public client'],
  SVC_OIDC_REDIRECT_URI: [z.url().optional(), 'public address of /api/v1/auth/oidc/callback'],
  SVC_OIDC_SCOPES: [z.string().default('openid profile email'), 'scopes to ask for, by comma or space'],
  SVC_OIDC_ALLOW_INSECURE_ISSUER: [choice(false), 'admit an http issuer on loopback'],
  SVC_LOGIN_FAILURE_LIMIT: [count(10), 'failed logins per account and window before 429'],
  SVC_LOGIN_FAILURE_WINDOW_SECONDS: [count(300), 'length of the window in which failed logins are counted'],
} as const satisfies SettingsTable
