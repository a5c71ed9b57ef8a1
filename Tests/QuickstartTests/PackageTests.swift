// From stanzas to packages.

import Foundation
import Testing

@testable import quickstart

/// The package that the first stanza of a text describes.
private func package(_ text: String) throws -> Package {
  var reader = ControlReader(Array(text.utf8))
  let stanza = try #require(try reader.next())
  return try Package(stanza)
}

@Suite struct PackageTests {
  @Test("A stanza becomes a package")
  func wholePackage() throws {
    let found = try package(
      """
      Package: bash
      Version: 5.2.15-2+b13
      Installed-Size: 7164
      Maintainer: Matthias Klose <doko@debian.org>
      Architecture: amd64
      Depends: base-files (>= 2.1.12), default-mta | mail-transport-agent:any,
       debianutils [amd64] <!nocheck>
      Pre-Depends: libc6 (>= 2.36)
      Provides: sh (= 1), posix-shell
      Description: GNU Bourne Again SHell
       Bash is a shell.
      Homepage: http://tiswww.case.edu/php/chet/bash/bashtop.html
      Section: shells
      Priority: required

      """)
    #expect(
      found
        == Package(
          name: "bash", version: "5.2.15-2+b13", architecture: "amd64", section: "shells", priority: .required,
          installedSize: 7164, maintainer: "Matthias Klose <doko@debian.org>",
          homepage: "http://tiswww.case.edu/php/chet/bash/bashtop.html", summary: "GNU Bourne Again SHell",
          description: "Bash is a shell.",
          dependencies: [["libc6"], ["base-files"], ["default-mta", "mail-transport-agent"], ["debianutils"]]
            .map { Dependency(names: $0) },
          provides: ["sh", "posix-shell"]))
  }

  @Test("All but the name may be missing, and priorities may be unknown")
  func barePackage() throws {
    let found = try package("Package: x\nPriority: source\n")
    #expect(found.priority == .optional)
    #expect(found.dependencies.isEmpty && found.installedSize == 0 && found.homepage == nil)
  }

  @Test(
    "What makes no sense is an error with its line",
    arguments: [
      ("Version: 1\n", 1), ("Version: 1\nPackage:\n", 1), ("Version: 1\nPackage: a b\n", 2),
      ("Package: a\nInstalled-Size: -1\n", 2), ("Package: a\nInstalled-Size: 99999999999999999999\n", 2),
      ("A: b\nPackage: \(String(repeating: "x", count: 100_000))\n", 2),
    ])
  func nonsense(text: String, line: Int) {
    let error = #expect(throws: ControlError.self) { try package(text) }
    #expect(error?.line == line)
  }

  @Test(
    "Odd lists of dependencies give what names they have",
    arguments: [
      ("", []), (",,|,", []), ("a|b|", [["a", "b"]]), (" ( ", []), ("a(>=1),b<c", [["a"], ["b"]]), ("a:any", [["a"]]),
    ])
  func oddDependencies(field: String, names: [[String]]) {
    #expect(Dependency.list(field).map(\.names) == names)
  }

  @Test("The fixture has 2,000 packages of many kinds")
  func fixture() throws {
    let data = try Data(contentsOf: repository.appendingPathComponent("Fixtures/debian-packages.txt"))
    var reader = ControlReader([UInt8](data))
    var packages: [Package] = []
    while let stanza = try reader.next() { packages.append(try Package(stanza)) }
    #expect(packages.count == 2000)
    #expect(Set(packages.map(\.name)).count == 2000)
    #expect(Set(packages.map(\.section)).count > 20)
    #expect(Set(packages.map(\.priority)) == [.required, .important, .standard, .optional, .extra])
    #expect(packages.allSatisfy { !$0.version.isEmpty && !$0.summary.isEmpty && !$0.maintainer.isEmpty })
  }
}
