// Bugs are planted where they belong, and nothing else is changed.

import Foundation
import Testing

@testable import planted_bugs

@Suite("Planting bugs") struct PlantingTests {
  private func bug(_ name: String, _ line: String, after: String? = nil, _ mutated: String) -> PlantedBug {
    PlantedBug(
      name: name, area: "a", harm: "h", file: "Sources/M/F.swift", line: line, after: after, mutated: mutated,
      killer: "crashes")
  }

  @Test("The line is replaced where it stands, with its indentation, and the switch has the bug's number")
  func lineIsReplaced() throws {
    let text = "func f() {\n  one()\n  two()\n  if x {\n    two()\n  }\n}\n"
    let first = bug("first", "one()", "if !PLANTED {\n  one()\n}")
    let second = bug("second", "two()", after: "if x {", "if !PLANTED { two() }")
    #expect(first.number != second.number)
    #expect(
      try Planting.plant([first, second], in: text)
        == "func f() {\n  if !PlantedBug.isOn(\(first.number)) {\n    one()\n  }\n  two()\n  if x {\n"
        + "    if !PlantedBug.isOn(\(second.number)) { two() }\n  }\n}\n")
  }

  @Test("A line that is missing, or there twice, and two bugs in one line are faults that name the bug")
  func faultsNameTheBug() {
    let text = "a()\nb()\nb()\n"
    for (bugs, words) in [
      ([bug("gone", "c()", "PLANTED")], ["gone", "0 times"]),
      ([bug("twice", "b()", "PLANTED")], ["twice", "2 times"]),
      ([bug("one", "a()", "PLANTED"), bug("other", "a()", "PLANTED")], ["one", "other", "same line"]),
    ] {
      let fault = #expect(throws: PlantedBug.Fault.self) {
        _ = try Planting.plant(bugs, in: text)
      }
      for word in words { #expect(fault?.description.contains(word) == true) }
    }
  }

  @Test("The sources have each line of the lists, and there are enough bugs in all parts of the store")
  func listsAreUpToDate() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let bugs = try PlantedBug.all(in: root.appendingPathComponent(PlantedBug.folder))
    #expect(bugs.count >= 60)
    #expect(Set(bugs.map(\.area)).count >= 15)
    let files = try Planting(bugs: bugs).plantedFiles(of: root)
    for (path, text) in files { #expect(!text.contains(PlantedBug.mark), "\(path)") }
  }

  @Test("Of what fails without a bug the lines that say so are shown, or the end where none does")
  func excerptsTellWhatFailed() {
    let beginning = "↳ Testing Library Version: 6\n" + String(repeating: "✔ Test a() passed\n", count: 200)
    let failed = beginning + "✘ Test b() recorded an issue\n↳ it was 2\n✔ Test c() passed\n"
    #expect(Battery.excerpt(of: failed).hasSuffix("✘ Test b() recorded an issue\n↳ it was 2"))
    #expect(!Battery.excerpt(of: failed).contains("✔"))
    let hung = beginning + "◇ Test d() started."
    #expect(Battery.excerpt(of: hung) == String(hung.suffix(2000)))
  }

  @Test("A bug is looked for first where the list says, and longer the larger the size")
  func stagesFollowTheList() {
    let folder = URL(fileURLWithPath: "/")
    var some = bug("some", "a()", "PLANTED")
    some.killer = "SomeTests"
    #expect(Battery(size: .first, folder: folder).stages(for: some) == [.tests("SomeTests")])
    #expect(
      Battery(size: .nightly, folder: folder).stages(for: some) == [
        .tests("SomeTests"), .tests("MTests"), .allTests,
      ])
    some.file = "Sources/QuireStorage/F.swift"
    let gate = Battery(size: .gate, folder: folder).stages(for: some)
    let nightly = Battery(size: .nightly, folder: folder).stages(for: some)
    #expect(gate.first == .tests("SomeTests") && gate.contains(.allTests) && gate.contains(.rot))
    #expect(nightly.count == gate.count + 1 && Array(nightly.dropLast()) == gate)
    some.killer = "crashes"
    let crashes = Battery(size: .gate, folder: folder).stages(for: some)
    #expect(crashes.first == .crashes(seed: 1, count: 10_000) && Set(crashes).count == crashes.count)
    some.killer = "threads"
    #expect(Battery(size: .first, folder: folder).stages(for: some) == [.tests("Scheduled"), .tests("Threaded")])
    some.killer = "postgres"
    #expect(Battery(size: .nightly, folder: folder).stages(for: some) == [.postgres])
  }

  @Test("The report says what was noticed and what was not")
  func reportSaysBoth() {
    var report = BugReport()
    #expect(report.noticedShare == 1)
    report.add(bug("found", "a()", "PLANTED"), .noticed(by: "rot", seconds: 1, hung: false))
    report.add(bug("missed", "a()", "PLANTED"), .survived(seconds: 2))
    #expect(report.noticedShare == 0.5)
    #expect(report.summary == "1 of 2 bugs noticed, 50.0 %; not: missed")
    #expect(report.table.contains("| a | `found` | h | rot | 1.0 |"))
  }
}
