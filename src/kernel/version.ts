declare const BUILD_VERSION: string | undefined

/** Stamped by the build; an unstamped run is `0.0.0-dev` and never prompts for updates. */
export const version: string = typeof BUILD_VERSION === 'string' ? BUILD_VERSION : '0.0.0-dev'
