// The tables of cases that YapDatabase's change sets and mappings are held to.

import Testing

@Suite struct LogicTests {
  @Test(arguments: LogicTable.cases(LogicTable.changes)) func changes(_ line: LogicTable.Case) throws {
    try LogicRunner.run(line)
  }

  @Test(arguments: LogicTable.cases(LogicTable.mappings)) func mappings(_ line: LogicTable.Case) throws {
    try LogicRunner.run(line)
  }

  @Test func tablesAreWhole() {
    #expect(LogicTable.cases(LogicTable.changes).count == 30)
    #expect(LogicTable.cases(LogicTable.mappings).count == 97)
  }
}
