/** The largest encoded size of one stored value, in bytes: 4 MiB (P9). */
export const PAYLOAD_LIMIT_BYTES = 4 * 1024 * 1024;
