export { InversifyResolver } from './inversify-resolver';
