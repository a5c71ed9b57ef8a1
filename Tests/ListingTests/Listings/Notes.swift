// The listings of “Tutorial: a notes app”, in their order. `TutorialTests` runs them.

import Foundation
import Observation
import Quire

struct Note: Codable, Sendable, Equatable {
  var title: String
  var text: String
  var folderID: String
  var isPinned = false
  var changeDate: Date
  var picture: String?
}

struct Folder: Codable, Sendable {
  var name: String
}

extension RowCollection where Object == Note, Metadata == NoMetadata {
  static var notes: Self { .init("notes") }
}

extension RowCollection where Object == Folder, Metadata == NoMetadata {
  static var folders: Self { .init("folders") }
}

extension AutoView where Object == Note, Metadata == NoMetadata {
  static var notesByFolder: Self {
    AutoView(
      "notes.byFolder", over: .notes, version: "1", group: { note in note.folderID },
      sortKey: { note in SortKeys(note.isPinned ? 0 : 1, Descending(note.changeDate)) })
  }
}

extension FullText where Object == Note, Metadata == NoMetadata {
  static var noteWords: Self {
    FullText("notes.words", over: .notes, version: "1", tokenizer: .words.stemmed(.english)) {
      SearchField("title", \.title, weight: 4)
      SearchField("text", \.text)
    }
  }
}

extension Relationship where Object == Note {
  static var noteOwners: Self {
    Relationship("notes.owners", over: .notes) { note in
      var edges = [Edge("folder", to: .folders, key: note.folderID, rules: .deleteSourceIfDestinationDeleted)]
      if let picture = note.picture {
        edges.append(Edge("picture", toFile: picture, rules: .deleteDestinationIfSourceDeleted))
      }
      return edges
    }
  }
}

struct NoteStore: Sendable {
  let db: Database

  init(at file: String) async throws {
    db = try await Database.open(
      at: file,
      extensions: [
        AutoView<Note, NoMetadata>.notesByFolder, FullText<Note, NoMetadata>.noteWords, Relationship<Note>.noteOwners,
      ])
  }
}

extension NoteStore {
  func makeFolder(_ name: String, id: String = UUID().uuidString) async throws -> String {
    try await db.write { tx in try tx[.folders].set(Folder(name: name), for: id) }
    return id
  }

  func save(_ note: Note, id: String = UUID().uuidString) async throws -> String {
    try await db.write { tx in try tx[.notes].set(note, for: id) }
    return id
  }

  func pin(_ id: String, _ isPinned: Bool) async throws {
    try await db.write { tx in try tx[.notes].update(id) { note in note.isPinned = isPinned } }
  }

  func deleteFolder(_ id: String) async throws {
    try await db.write { tx in try tx[.folders].remove(id) }
  }
}

struct DeletedNote: Sendable {
  let id: String
  let note: Note
}

extension NoteStore {
  func delete(_ id: String) async throws -> DeletedNote? {
    try await db.write { tx in
      guard let note = try tx[.notes].get(id) else { return nil }
      try tx[.notes].remove(id)
      return DeletedNote(id: id, note: note)
    }
  }

  func undo(_ deleted: DeletedNote) async throws {
    try await db.write { tx in
      guard try tx[.folders].contains(deleted.note.folderID) else { return }
      try tx[.notes].set(deleted.note, for: deleted.id)
    }
  }
}

struct FoundNote: Sendable {
  let id: String
  let title: String
  let piece: String
}

extension NoteStore {
  func search(typing text: String) async throws -> [FoundNote] {
    try await db.read { tx in
      try tx[.notes].search(typing: text).ranked().limit(20).hits.map { hit in
        FoundNote(id: hit.key, title: hit.object.title, piece: try hit.snippet(of: "text").marked("[", "]"))
      }
    }
  }
}

@MainActor @Observable
final class FolderModel {
  private(set) var notes: [Note] = []

  func follow(_ folderID: String, in store: NoteStore) async throws {
    let view = AutoView<Note, NoMetadata>.notesByFolder
    var sections: [[Note?]] = []
    for try await update in try store.db.updates(of: ViewMappings(view, groups: [folderID])) {
      sections = try await update.snapshot.read { [sections] tx in
        let reader = try tx.view(view)
        return try update.diff.applied(to: sections) { path in try reader.object(at: path, update.mappings) }
      }
      notes = sections.joined().compactMap { $0 }
    }
  }
}
