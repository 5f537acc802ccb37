module.exports = {
  transform: {
    '^.+\\.ts$': 'ts-jest',
    // Some packages that Holdfast uses are ES modules only, which jest cannot require.
    '^.+\\.js$': ['ts-jest', { tsconfig: { allowJs: true, module: 'commonjs', target: 'es2022' }, diagnostics: false }],
  },
  transformIgnorePatterns: ['/node_modules/(?!(tinyqueue|uuid|inversify|@inversifyjs)/)'],
};
