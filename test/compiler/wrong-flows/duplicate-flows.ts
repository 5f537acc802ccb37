import { Flow } from '../../../decorators';

@Flow({ name: 'order' })
class OrderFlow {}

@Flow({ name: 'order' })
class NewOrderFlow {}

@Flow({ name: 'return', aliases: ['order'] })
class ReturnFlow {}

export const flows = [OrderFlow, NewOrderFlow, ReturnFlow, OrderFlow];
