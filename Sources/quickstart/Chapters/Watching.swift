// Chapter: a change, who hears of it, and who does not see it.

import Foundation
import Quire

extension Chapter {
  /// Updates a package while a stream of commits listens and a pinned snapshot stays where it is.
  static let watching = Chapter(
    title: "Watch: a change is reported, a snapshot stays put",
    code: """
      let commits = db.commits
      let snapshot = try db.pin()
      try await db.write { tx in
        try tx[.packages].update(name) { package in package.version += "+quire1" }
      }
      for try await commit in commits where commit.changes.hasChanges(forKey: name, in: .packages) { break }
      let old = try await snapshot.read { tx in try tx[.packages].get(name)?.version }
      let missed = try snapshot.advance()
      let new = try await snapshot.read { tx in try tx[.packages].get(name)?.version }
      """
  ) { tour in
    let db = try tour.openDatabase()
    let name = try sampleName(db)
    let clock = ContinuousClock()
    let start = clock.now

    let commits = db.commits
    let snapshot = try db.pin()
    try await db.write { tx in
      try tx[.packages].update(name) { package in package.version += "+quire1" }
    }
    tour.screen.done("\(name) upgraded and on the disk", text(clock.now - start))
    for try await commit in commits where commit.changes.hasChanges(forKey: name, in: .packages) { break }
    tour.screen.done("The stream of commits reports \(name)", "\(text(clock.now - start)) after the start")

    let old = try await snapshot.read { tx in try tx[.packages].get(name)?.version }
    tour.screen.done("The pinned snapshot still has \(old ?? "none")", "\(snapshot.csn)")
    let missed = try snapshot.advance()
    let new = try await snapshot.read { tx in try tx[.packages].get(name)?.version }
    tour.screen.done("Advanced by \(missed.count) commit, it has \(new ?? "none")", "\(snapshot.csn)")
    guard let old, new == old + "+quire1", missed.count == 1 else {
      throw TourError("The snapshot went from \(old ?? "none") to \(new ?? "none") by \(missed.count) commits.")
    }
  }
}
