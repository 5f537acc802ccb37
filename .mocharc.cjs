// With a spec in the file that is always read, no run could be of some files only.
module.exports = { ...require('./test/mocha.json'), spec: ['test/**/*.test.ts'] };
