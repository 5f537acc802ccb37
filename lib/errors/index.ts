export { type CatalogueEntry, catalogue, type ErrorCode, type ErrorKind } from './catalogue';
export { type ErrorDetails, HoldfastError } from './holdfast-error';
