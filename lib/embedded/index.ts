export { Holdfast, type HoldfastOptions } from './holdfast';
