// What is stored: packages, and what the import notes about them.

import Foundation
import Quire

/// A package of Debian.
struct Package: Codable, Hashable, Sendable {
  var name: String
  var version: String
  var architecture: String
  var section: String
  var priority: Priority
  /// What it takes when installed, in KiB.
  var installedSize: Int
  var maintainer: String
  var homepage: String?
  /// One line.
  var summary: String
  /// The lines behind the summary, if the index has them.
  var description: String?
  var dependencies: [Dependency]
  /// Names that other packages may depend on in the place of this one's.
  var provides: [String]
}

/// How much a system needs a package.
enum Priority: String, Codable, Sendable {
  case required, important, standard, optional, extra
}

/// One thing that a package needs: any of these packages, the preferred one first.
struct Dependency: Codable, Hashable, Sendable {
  var names: [String]
}

/// What the import notes about a package: metadata can be read without touching the package itself.
struct ImportState: Codable, Hashable, Sendable {
  enum Status: String, Codable, Sendable { case imported, upgraded }

  var status: Status
  /// The line of the index where the package begins.
  var line: Int
  var date: Date
}

extension RowCollection where Object == Package, Metadata == ImportState {
  static var packages: Self { .init("packages") }
}
