import { v7 } from 'uuid';
import type { Ids } from '../ports';

export const systemIds: Ids = { next: () => v7() };
